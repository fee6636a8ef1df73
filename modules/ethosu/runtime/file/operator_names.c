// SPDX-License-Identifier: MIT
/** Names of TensorFlow Lite's builtin operators, only for error messages. */
#include "runtime/file/tflite.h"

#include <string.h>

/** In the order of their codes, which have no gaps. */
static const char names[] =
#define OPERATOR(name, code) #name " "
#include "runtime/file/operators.def"
#undef OPERATOR
    ;

#define OPERATOR(name, code) POSITION_##name,
enum {
#include "runtime/file/operators.def"
};
#undef OPERATOR

#define OPERATOR(name, code) _Static_assert(POSITION_##name == (code), #name);
#include "runtime/file/operators.def"
#undef OPERATOR

struct tflite_text operator_name(uint32_t code)
{
    const char *name = names;
    for (; code > 0; code--) {
        const char *blank = strchr(name, ' ');
        if (blank == NULL) {
            return (struct tflite_text){"?", 1};
        }
        name = blank + 1;
    }
    return (struct tflite_text){name, (uint32_t)strcspn(name, " ")};
}
