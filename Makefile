# Formulary: everything a developer runs. `make` alone lists it.

GO    ?= go
export GO
# The same for every command, so that nothing is compiled twice. The linters run vet.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -vet=off)
TOOL  := $(GO) tool -modfile=tools/go.mod
MODULES := . e2e bench scripts/release
ADDR  ?= 127.0.0.1:8080
BINARY ?= bin/formulary
export FORMULARY_BINARY = $(abspath $(BINARY))
SKIPPED = [ -z \"$$CI\" ] || [ $$TESTS_SKIPPED = 0 ] || { echo The skipped tests fail in CI.; exit 1; }
GOTEST = $(TOOL) gotestsum --format pkgname --post-run-command 'sh -c "$(SKIPPED)"' \
	--raw-command -- $(GO) run ./scripts/gotest

.DEFAULT_GOAL := help
.NOTPARALLEL: # what is missing is told first; the tools use all cores by themselves
.PHONY: help build run test check fmt lint messages translations tidy fuzz bench vuln test-deps test-deps-release check-release check-deploy check-openapi screenshots release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/formulary: one static binary
	$(GO) build -ldflags "-s -w" -o $(BINARY) ./cmd/formulary

run: build ## serve a copy of examples/ and say what to try; ADDR=127.0.0.1:8090 for another port
	@ADDR=$(ADDR) scripts/run-examples

test: build ## run every test; skip and list those that need a missing program
	$(GOTEST)

check: export CI = true
check: test-deps tidy build ## what CI runs: modules tidy, lint clean, static build, all tests, none skipped
	$(GOTEST) make lint
	@$(MAKE) --no-print-directory translations

fmt: ## format the code
	$(TOOL) golangci-lint fmt

lint: ## plain English, scripts, formatting, vet and the linters of .golangci.yml
	@[ -d tools/prose/node_modules ] && [ -d tools/js/node_modules ] || { echo "make test-deps installs textlint, TypeScript and ESLint, which this needs." >&2; exit 1; }
	node --test tools/prose/*.test.js
	node tools/prose/prose.js
	tools/js/node_modules/.bin/tsc --project tools/js
	tools/js/node_modules/.bin/eslint --config tools/js/eslint.config.js $$(git ls-files '*.js')
	@linter=$$($(TOOL) -n golangci-lint) && for module in $(MODULES); do \
		echo "golangci-lint run # in $$module"; (cd $$module && $$linter run) || exit; done

messages: ## update internal/lang/messages from the sources
	CGO_ENABLED=0 $(GO) test -trimpath -vet=off -count 1 -run '^TestCatalogs$$' ./internal/lang -update

translations: ## list messages without a translation, or with one to be reviewed
	@CGO_ENABLED=0 $(GO) test -trimpath -vet=off -count 1 -v -run '^TestNothingIsMissing$$' ./internal/lang | sed -n 's/^    //p'

tidy: ## fail if go.mod or go.sum is out of date
	@for module in $(MODULES) tools; do echo "go mod tidy -diff # in $$module"; (cd $$module && $(GO) mod tidy -diff) || exit; done

fuzz: ## fuzz each parser for a minute
	scripts/fuzz 60s

bench: ## measure speed and memory; writes bench/RESULTS.md
	cd bench && $(GO) run .

vuln: ## look for known vulnerabilities in what is linked in (asks vuln.go.dev)
	$(TOOL) govulncheck ./...

test-deps: ## install what the tests need beside Go (Debian, as root), or say what is missing
	@scripts/test-deps

# Before a release, not in CI: it takes long, and needs LibreOffice, nginx, Caddy, systemd, Patroni and etcd.
# What it measures of a failover is in docs/operations.md.
check-release: export CI = true
check-release: test-deps-release tidy lint build ## all of check, and the tests that take minutes or install servers
	FORMULARY_TEST_RELEASE=1 GOFLAGS="$(GOFLAGS) -tags=release" $(GOTEST) -timeout 60m
	@# Once more on the system's own MediaWiki, which is an older one on Debian 12.
	export FORMULARY_TEST_MEDIAWIKI=/usr/share/mediawiki; \
	$(GO) test -count 1 -timeout 60m -run Wiki ./internal/wiki ./internal/pages ./internal/rest && \
	$(GO) test -C e2e -count 1 -timeout 60m -run Wiki . ./browser

test-deps-release:
	@scripts/test-deps release

check-deploy: build ## have systemd, nginx, Caddy and Prometheus read deploy/
	@for tool in systemd-analyze:systemd nginx:nginx caddy:caddy promtool:prometheus openssl:openssl; do \
		PATH=$$PATH:/usr/sbin command -v $${tool%%:*} >/dev/null \
			|| { command -v apt-get >/dev/null && scripts/apt-install $${tool##*:}; } \
			|| { echo "deploy/ is checked with $${tool%%:*}: install it." >&2; exit 1; }; done
	@PATH=$$PATH:/usr/sbin scripts/check-deploy

check-openapi: ## have Spectral and Redocly read openapi.yaml (by npx)
	npx --yes @stoplight/spectral-cli@6 lint --fail-severity hint --ruleset .spectral.yaml internal/rest/openapi.yaml
	npx --yes @redocly/cli@2 lint internal/rest/openapi.yaml

# For the README, and to look at. docs/images/ is ignored, but for what README shows.
screenshots: build ## write a picture of every page to docs/images/
	scripts/test-deps pictures
	$(GO) test -C e2e -tags release -count 1 -run '^TestScreenshots' ./browser -args -screenshots $(CURDIR)/docs/images

# A commit gives the same bytes each time. docs/releasing.md says what comes before and after.
release: ## write archives, packages and an image to dist/: make release VERSION=0.1.0
	@cd scripts/release && $(GO) run . "$(VERSION)"

clean: ## remove what was built, and the copy of the examples with its answers
	rm -rf bin dist .run .run.new
