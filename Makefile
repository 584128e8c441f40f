# `make` alone explains the targets.

GO   ?= go
BIN   = $(CURDIR)/bin
LINT  = $(GO) tool -modfile=$(CURDIR)/tools/go.mod golangci-lint

# Go switches cgo off where it finds no C compiler, and the race detector needs one.
RACE  = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

# By default a program with the race detector waits for a second before it ends. Some tests start hundreds.
export GORACE ?= atexit_sleep_ms=0

# The linter runs vet on all packages that it lints with types, so go test need not: vet reads all dependencies.
# Without DWARF (-w), a test program is linked in three quarters of the time. Stack traces do not need it.
TEST  = $(GO) test -vet=off -shuffle=on -ldflags=-w

# The packages that have unit tests. For the others go test would compile all of Kubernetes a second time, for the race detector.
TESTED = $(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep -v /test/e2e

# A build must not fail because git is missing or distrusts the folder; the daemon's version comes from tools/version-flags.sh.
export GOFLAGS := $(strip $(shell GOTOOLCHAIN=local $(GO) env GOFLAGS 2>/dev/null) -buildvcs=false)

FUZZTIME ?= 10s
FUZZ     ?= guided

# What is made from the results of benchmarks.
FIGURES = cd $(CURDIR)/test/scale && $(GO) test -count=1 ./internal/figures -run '^TestPages$$' -generate

# The tests that compare a file with code, in the packages that use internal/golden.
COMPARE = '^(TestReference|TestThirdParty|TestConfigz|TestTraces|TestExample|TestModules|TestMemorySurvivesPassesWithoutWork|TestNothingIsLeftOfObjectsThatAreGone)$$'

DEMO = $(BIN)/playground demo --simcloud $(BIN)/simcloud --ccm $(BIN)/cloud-controller-manager

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo demo-check recording test unit e2e attack chaos shuffle test-browser test-skew test-kubernetes test-next examples bench bench-record cover fuzz check lint generate vuln chart image release build clean need-go need-linux always

help: # This text.
	@awk -F ':.*## ' '/^[a-z0-9\/-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## A real control plane, a simulated cloud and three nodes on this machine, for you to play with.
	@$(DEMO)

demo-check: build ## The same without a person: runs the demo, checks what you would see, prints it, ends.
	@$(DEMO) --check

recording: build ## The README's recording, from a run of the demo.
	$(GO) run ./internal/recording -command 'make demo-check' -until '^ok ' -title 'make demo-check in a terminal: three machines become nodes, a Service gets an address' -write-to docs/pictures/demo.svg -- $(DEMO) --check

test: unit e2e ## All tests: unit tests, then end to end.

unit: | need-go ## Unit tests of all modules, with the race detector where there is a C compiler.
	$(if $(RACE),,@echo "No C compiler: testing without the race detector.")
	$(TEST) $(RACE) -timeout=30m $$($(TESTED) | grep -vE '/test/(growth|walks)$$')
	$(TEST) -timeout=30m ./test/growth ./test/walks # They count, and take many times as long with the race detector.
	cd playground && $(TEST) $(RACE) -timeout=30m $$($(TESTED))
	cd test/scale && $(TEST) $(RACE) -timeout=30m ./...
	cd test/alerts && $(GO) test -shuffle=on -timeout=10m ./...
	cd ccm/skeleton && $(TEST) $(RACE) -timeout=30m ./...
	cd examples/provider && $(TEST) $(RACE) -timeout=30m $$($(TESTED))

e2e: build bin/kubectl bin/scale/upstream ## The daemon against a real control plane, real kubelets and a simulated cloud with faults.
	FAIRLEAD_BIN=$(BIN) $(TEST) -count=1 -timeout=60m ./test/e2e/...

attack: build bin/kubectl bin/scale/upstream ## The attacks of the threat model on a running daemon, with what each of them costs: memory, log, routes, the wait of others. Two minutes; part of e2e, too.
	FAIRLEAD_BIN=$(BIN) $(TEST) -count=1 -timeout=10m -v ./test/e2e -run '^(TestAttacks|TestRouteOfAPartOfAnotherNodesCIDR|TestHiddenNodesKeepNoRoutes|TestLateClaimsGetNoRoutes)$$'

chaos: build bin/kubectl ## A thousand random lives of Services while everything fails, DURATION=10m. SEED=N repeats the events of a run. A minute of it is part of e2e.
	FAIRLEAD_BIN=$(BIN) $(TEST) -count=1 -timeout=0 -v ./test/e2e -run '^TestChaos$$' -chaos=$(or $(DURATION),10m) -chaos-seed=$(or $(SEED),0)

shuffle: build bin/kubectl bin/scale/upstream ## All tests TIMES=10 times, each time in another order. AT_ONCE=2: two runs side by side, which keeps two cores busy. PATTERN=internal/cloud: only these folders.
	@FAIRLEAD_BIN=$(BIN) RACE=$(RACE) AT_ONCE=$(AT_ONCE) tools/shuffle.sh $(or $(TIMES),10) $(PATTERN)

test-browser: build bin/npm/node_modules ## The simulated cloud's page in headless Chromium, and the demo's. PICTURE=FILE.png takes the picture of the page for the docs, DEMO_PICTURE=FILE.png that of the demo.
	cd test/browser && FAIRLEAD_BIN=$(BIN) PICTURE=$(abspath $(PICTURE)) DEMO_PICTURE=$(abspath $(DEMO_PICTURE)) $(TEST) -count=1 -timeout=30m ./...

test-skew: build bin/kubectl ## The daemon on the two older minors of Kubernetes, and an older provider in it. Not part of .ci/run: each control plane compiles for ten minutes, once. PART=1.36 or PART=aws for a part.
	tools/skew.sh $(PART)

test-next: | need-go ## The unit tests with the next release of the k8s.io modules. Not part of .ci/run: it compiles for twenty minutes, once.
	tools/skew.sh next

test-kubernetes: build bin/kubectl ## Cases of Kubernetes' own end-to-end tests on the playground. Not part of .ci/run: their packages compile for minutes, once; then two minutes.
	cd test/kubernetes && FAIRLEAD_BIN=$(BIN) $(GO) test -vet=off -ldflags=-w -count=1 -timeout=20m -v -run '^TestCases$$' .

examples: build ## The unchanged provider of AWS, linked and driven against a small EC2 of ours. It compiles for minutes, once.
	cd examples/aws && $(GO) vet ./... && FAIRLEAD_BIN=$(BIN) $(TEST) -count=1 -parallel=8 -timeout=30m ./...

bench: build bin/scale/bench bin/scale/fairlead bin/scale/upstream ## What everything costs, beside the community's skeleton. NODES=5000 SERVICES=500: a large cluster, an hour. ARGS="-scenario init,idle": a part. ARGS=-h: more.
	@$(BIN)/scale/bench -bin $(BIN) -write-to $(or $(BENCH_TO),$(BIN)/bench) $(if $(NODES),-nodes=$(NODES)) $(if $(SERVICES),-services=$(SERVICES)) $(ARGS)

bench-record: ## The same for docs/benchmarks, with what is made from it: two tables and the picture.
	@rm -rf $(BIN)/bench/new
	@$(MAKE) bench BENCH_TO=$(BIN)/bench/new; code=$$?; cp $(BIN)/bench/new/*.json docs/benchmarks/ && $(FIGURES) && exit $$code

cover: | need-go ## The coverage of the rules: of each decide.go and rules_*.go. It fails below 100 %.
	@tools/cover.sh

fuzz: | need-go ## Each fuzz target of all modules, for a time: FUZZTIME=10s; FUZZ=blind compiles less and finds less
	@FUZZ=$(FUZZ) tools/fuzz.sh $(FUZZTIME)

check: lint ## Before each commit: lint and the fast tests.
	$(GO) test -short $$($(TESTED))
	cd playground && $(GO) test -short $$($(TESTED))
	cd test/scale && $(GO) test -short ./...
	cd test/alerts && $(GO) test -short ./...
	cd ccm/skeleton && $(GO) test -short ./...
	cd examples/provider && $(GO) test -short $$($(TESTED))

# The linter reads all dependencies of a module, with their types. The modules of the workspace have almost the same dependencies,
# so one run for all of them takes less than half the time. Packages that link all of Kubernetes, AWS or Prometheus are linted
# without types. With types that would take ten minutes and 8 GB.
WORKSPACE = . ./test/scale ./ccm/skeleton ./examples/provider

lint: bin/go.work | need-go ## The linter, in all modules.
	linter=$$($(GO) tool -modfile=tools/go.mod -n golangci-lint) && export GOWORK=$(BIN)/go.work && \
		$$linter run $(addsuffix /...,$(WORKSPACE)) $$(cd playground && $(GO) list -f '{{.Dir}}' $$($(TESTED)))
	cd test/browser && $(LINT) run ./...
	cd test/alerts && $(LINT) run --fast-only ./...
	cd test/kubernetes && $(LINT) run --fast-only ./...
	cd examples/aws && $(LINT) run --fast-only ./...
	cd playground && $(LINT) run --fast-only ./...
	$(GO) tool -modfile=tools/workflows/go.mod actionlint -shellcheck= -pyflakes=

bin/go.work: Makefile $(addsuffix /go.mod,$(WORKSPACE) ./playground) | need-go
	@mkdir -p bin && rm -f $@ && cd bin && $(GO) work init $(addprefix ../,$(WORKSPACE) ./playground)

generate: | need-go ## Everything that a test compares with code or data: pages, golden files, what `fairlead new` writes. A test fails while it is stale, and names the source.
	$(GO) test -count=1 -run $(COMPARE) ./internal/daemon ./internal/daemon/settings ./internal/docs ./internal/linkcheck ./internal/scaffold -generate
	$(FIGURES)

vuln: | need-go ## Known vulnerabilities in what our programs call. It asks vuln.go.dev, so it is not part of .ci/run.
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./cmd/...

chart: | need-go ## The Helm chart: lint it, render deploy/ and its golden files. helm itself compiles for minutes, once.
	tools/chart.sh

image: | need-go ## The daemon as it goes into an image, static, for amd64 and arm64; the image too where docker is. IMAGE=name:tag
	tools/image.sh $(IMAGE)

release: | need-go ## A release without its publication: archives for amd64 and arm64, bills of materials, chart, checksums, built twice and compared. Nothing is uploaded.
	@tools/release.sh

build: bin/cloud-controller-manager bin/simcloud bin/fairlead bin/playground ## Everything, into bin/. The control plane compiles for minutes, once.

clean: ## Remove bin/.
	rm -rf bin

# Without gRPC's own tracing, the linker drops the methods that nobody calls: the daemon becomes 40 % smaller.
TAGS := grpcnotrace

# go build knows by itself when these are up to date.
bin/cloud-controller-manager bin/simcloud bin/fairlead: always | need-go
	@tools/go-build.sh $@ -tags $(TAGS) -ldflags "$$(tools/version-flags.sh)" -o $@ ./cmd/$(@F)

bin/scale/bench bin/scale/fairlead: always | need-go
	@flags=$$(tools/version-flags.sh) && cd test/scale && ../../tools/go-build.sh $@ -tags $(TAGS) -ldflags "$$flags" -o $(CURDIR)/$@ ./$(filter-out bench,$(@F))

# The skeleton is stamped with the version of its own libraries, as a vendor's release is, because the libraries read it.
bin/scale/upstream: always | need-go
	@cd test/scale/upstream && version=$$($(GO) list -m -f '{{.Version}}' k8s.io/cloud-provider) && \
		../../../tools/go-build.sh $@ -ldflags "-X k8s.io/component-base/version.gitVersion=v1.$${version#v0.}" -o $(CURDIR)/$@ .

# The control plane is big, so make calls go build only when a source, a dependency or the Go version has changed.
bin/playground: $(shell find playground simulator deploy internal/manifest internal/ports internal/printable -type f ! -name '*_test.go' 2>/dev/null) bin/.go-version | need-linux
	@cd playground && ../tools/go-build.sh $@ -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$($(GO) list -m -f '{{.Version}}' k8s.io/kubernetes)" -o $(BIN)/playground .
	@touch $@

# The tests use this kubectl, and so can users who have none. Its release is that of the control plane.
bin/kubectl: playground/go.mod bin/.go-version ## A kubectl of the release of Kubernetes that the demo runs.
	@cd playground && ../tools/go-build.sh $@ -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$($(GO) list -m -f '{{.Version}}' k8s.io/kubernetes)" -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kubectl
	@touch $@

# What the tests in a browser need from npm: the accessibility rules of axe.
bin/npm/node_modules: test/browser/package.json test/browser/package-lock.json
	@command -v npm >/dev/null || { echo "fairlead: npm is missing. Install it with your package manager, for example: sudo apt-get install npm" >&2; exit 1; }
	@mkdir -p bin/npm && cp $^ bin/npm
	cd bin/npm && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

bin/.go-version: always | need-go
	@mkdir -p bin
	@$(GO) version | cmp -s - $@ || $(GO) version >$@

need-go:
	@tools/need.sh

need-linux:
	@tools/need.sh linux

always:
