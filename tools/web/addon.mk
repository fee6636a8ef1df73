# SPDX-License-Identifier: MIT
# Goals of the web page: included by the Makefile of the root.

# command:package, for the page; a node that is not from Debian includes npm.
WEB_PACKAGES := emcc:emscripten node:nodejs npm:npm esbuild:esbuild chromium:chromium
WEB_IMAGE := $(BUILD)/firmware/WEB/ethosu.wasm
CHECKED += page
SWEPT += web
RELEASED += web:web:$(BUILD)/web
DOWNLOADS += web-setup
IN_ANY += web-board
# If the page is built, its board is in the docs, and blocks of Python get a "Run" button.
docs: export BOOK_LIVE = $(shell [ -e $(WEB_IMAGE) ] && echo true || echo false)
ADD_TO_DOCS += [ ! -e $(WEB_IMAGE) ] || PYTHONPATH=. $(BIN)/python tools/web/install_live.py $(WEB_IMAGE) $(BUILD)/docs/live;

web-setup: setup $(STAMPS)/debian-web
	$(call say,packages of the page)
	@$(SUBMAKE) -C tools/web setup

web-board: setup $(STAMPS)/debian-web
	$(call say,board of the page)
	@$(call counted,board of the page) -C tools/web board

.PHONY: web web-setup web-board page serve test-web
$(STAMPS)/debian-web: tools/web/addon.mk tools/setup/debian.sh
	$(call say,Debian packages for the page)
ifeq ($(DEBIAN),yes)
	@missing=; for row in $(WEB_PACKAGES); do \
	    command -v $${row%:*} >/dev/null || missing="$$missing $${row#*:}"; \
	done; [ -z "$$missing" ] || tools/setup/debian.sh $$missing
endif
	@mkdir -p $(@D) && touch $@

web: setup $(STAMPS)/debian-web ## Build the web page with a board and Vela in build/web, 8 minutes of CPU time; docs gets a board
	$(call say,page)
	@$(call counted,page) -C tools/web \
	    $(call or_say,building the page failed; see the output above.)
	@ls $(BUILD)/web/*/vela.wasm >/dev/null

# For tests: Vela as WebAssembly takes longer than the rest, so only `make web` builds it.
page: setup $(STAMPS)/debian-web
	$(call say,page without Vela)
	@$(call counted,page) -C tools/web page \
	    $(call or_say,building the page failed; see the output above.)

serve: ## Serve the page of `make web` at http://localhost:PORT (default 8000)
	@[ -e $(BUILD)/web/index.html ] $(call or_say,the page is not built yet; run: make web)
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(BUILD)/web $(or $(PORT),8000)

test-web: build page ## Run the tests of the web page, in a browser
	$(call say,tests of the page)
	@$(PYTEST) -m "page and not slow" $(TESTS)
