// SPDX-License-Identifier: MIT
/** How long an inference may take; see deadline.h. */
#include "deadline.h"

#include "ethosu_board.h"
#include "py/mperrno.h"
#include "py/stream.h"

uint64_t deadline_left(const struct deadline *deadline)
{
    uint32_t elapsed = ethosu_ext_board_ticks_ms() - deadline->begun;
    if (deadline->timeout == ETHOSU_SEMAPHORE_WAIT_FOREVER) {
        return deadline->timeout;
    }
    return elapsed < deadline->timeout ? deadline->timeout - elapsed : 1;
}

bool deadline_is_over(const struct deadline *deadline)
{
    return ethosu_ext_board_ticks_ms() - deadline->begun >= deadline->timeout;
}

mp_uint_t deadline_poll(const struct deadline *deadline, const struct ethosu_driver *npu,
                        mp_uint_t request, uintptr_t flags, int *error)
{
    if (request != MP_STREAM_POLL) {
        *error = MP_EINVAL;
        return MP_STREAM_ERROR;
    }
    bool ready = npu == NULL || !ethosu_ext_is_running(npu) || deadline_is_over(deadline);
    return ready ? flags & MP_STREAM_POLL_RD : 0;
}
