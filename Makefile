# The commands of developers and operators; `make help` lists them.
SHELL := /bin/bash
GO    ?= go
BIN   := bin
PKGS  ?= $(LONG) ./...
export GOFLAGS += -trimpath
# Tests use what `make build` has compiled, and no C compiler is needed.
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: test-lab-cnf help demo run build test fuzz test-race lint bench bench-lab hostile fmt tools verify clean lab-up lab-down test-lab-openstack test-lab-smoke test-lab-k8s test-lab-k8s-smoke lab-k8s-down test-lab-kubespray test-lab-kubespray-smoke lab-kubespray-down

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  \033[1m%-18s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## compile gybe and simcloud into ./bin
	$(GO) build -o $(BIN)/ ./cmd/...

demo: build ## create a cluster on a simulated cloud and keep it; ONCE=1 also terminates it
	@$(GO) run ./test/demo $(if $(ONCE),--once,)

run: build ## start gybe with a private PostgreSQL and the simulated cloud, without a cluster
	@$(GO) run ./test/demo --idle

# Packages whose tests take minutes: go test starts packages in this order, and prints their results in it.
LONG  := ./test/crash ./test/e2e ./pkg/openstack ./pkg/k8scluster
# Many tests wait: at least four packages run at once. The heaps are small, and collecting them took a tenth of the time.
# `make verify` vets. The linker takes half of its time for debug information, which no test needs.
AT_ONCE   := $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n < 4 ? 4 : n)))
TESTFLAGS := -vet=off -ldflags=-w -shuffle=on -p $(AT_ONCE)

test: ## every test that needs no root and no extra package but PostgreSQL
	@echo "The longest packages run first, so the first results take minutes."
	GOGC=200 $(GO) test $(TESTFLAGS) -timeout 30m $(PKGS)

FUZZTIME ?= 10m

# Inputs are minimized by 20 tries. By default that takes up to a minute for an input whose coverage differs between runs,
# as that of signatures does; such a target does nothing else then.
fuzz: ## every fuzz target of the module, one after the other, FUZZTIME (10m) each; FUZZ=pattern selects packages
	@failed=; for pkg in $$($(GO) list ./... $(if $(FUZZ),| grep -E '$(FUZZ)',)); do \
	  grep -qs '^func Fuzz' $$($(GO) list -f '{{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}' $$pkg) /dev/null || continue; \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "== $$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg || failed="$$failed $$pkg.$$target"; \
	  done; done; [ -z "$$failed" ] || { echo "findings:$$failed; their inputs are in testdata/fuzz"; exit 1; }

test-race: ## the same under the race detector
	CGO_ENABLED=1 $(GO) test -race $(TESTFLAGS) -timeout 60m $(PKGS)

LAB := test/lab/openstack
export GYBE_LAB_STATE ?= $(CURDIR)/.dev/lab/openstack

lab-up: ## start a real OpenStack without a hypervisor (root, Debian 12); test/lab/openstack/README.md
	@$(LAB)/up.sh

lab-down: ## stop it; WIPE=1 removes its state too
	@$(LAB)/down.sh $(if $(WIPE),wipe,)

test-lab-openstack: lab-up ## every operation on the real OpenStack; RUN=pattern selects tests
	GYBE_LAB_OPENRC=$(GYBE_LAB_STATE)/openrc $(GO) test -count=1 -v -timeout 90m $(if $(RUN),-run '$(RUN)',) ./$(LAB)/...
	. $(GYBE_LAB_STATE)/openrc && $(GO) test -count=1 -v -timeout 10m $(if $(RUN),-run '$(RUN)',) ./test/keystone

test-lab-smoke: ## the most important operations, on a temporary lab
	GYBE_LAB_STATE=$(CURDIR)/.dev/lab/smoke $(LAB)/smoke.sh

test-lab-k8s: ## the real kubeadm on hosts of the real OpenStack; RUN=pattern selects tests, SAMPLE=folder tries its package (root, Debian 12)
ifdef SAMPLE
	test/lab/k8s/lab.sh sample '$(abspath $(SAMPLE))' $(if $(RUN),-run '$(RUN)',)
else
	@test/lab/k8s/lab.sh up
	test/lab/k8s/lab.sh test $(if $(RUN),-run '$(RUN)',)
endif

test-lab-k8s-smoke: ## a small cluster, scaled and healed, on a temporary lab
	GYBE_K8S_STATE=$(CURDIR)/.dev/lab/k8s-smoke GYBE_HOSTS_NET=gybe-k8s-smoke test/lab/k8s/lab.sh smoke

test-lab-cnf: ## CNFs on the real Kubernetes control plane, on a temporary lab (root, Debian 12)
	GYBE_CNF_STATE=$(CURDIR)/.dev/lab/cnf-smoke GYBE_HOSTS_NET=gybe-cnf-smoke test/lab/cnf/lab.sh smoke

test-lab-kubespray: ## clusters by playbooks of the real Ansible on the real OpenStack; RUN=pattern selects tests, KUBESPRAY=folder other playbooks (root, Debian 12)
	@test/lab/kubespray/lab.sh up
	test/lab/kubespray/lab.sh test $(if $(RUN),-run '$(RUN)',)

test-lab-kubespray-smoke: ## a cluster by playbooks and a CNF on it, on a temporary lab
	GYBE_KUBESPRAY_STATE=$(CURDIR)/.dev/lab/kubespray-smoke GYBE_HOSTS_NET=gybe-kubespray-smoke test/lab/kubespray/lab.sh smoke

lab-kubespray-down: ## remove the lab of test-lab-kubespray
	@test/lab/kubespray/lab.sh down

lab-k8s-down: ## remove the lab of test-lab-k8s
	@test/lab/k8s/lab.sh down

bench: build ## measure requests, operations, clusters, memory and start, side by side; ONLY=cluster,fleet selects parts
	@$(GO) run ./test/bench $(if $(ONLY),-only '$(ONLY)',)

hostile: build ## send hostile traffic to a node that honest users work with; TIME=1h, default 2m
	@$(GO) run ./test/hostile $(if $(TIME),-time '$(TIME)',)

bench-lab: build lab-up ## measure on the real OpenStack the time that operations add to Heat's, one after the other and 50 at once; ONLY=tour,crowd
	@. $(GYBE_LAB_STATE)/openrc && $(GO) run ./test/bench -lab $(if $(ONLY),-only '$(ONLY)',)

lint: $(BIN)/golangci-lint ## golangci-lint, shellcheck where it is installed, removed words (docs/words.txt), long lines
	$(GO) run ./test/words
	$(GO) run ./test/columns
	$(BIN)/golangci-lint run ./...
	@if git grep -n '"OS::' -- '*.go' ':!pkg/openstack' ':!test' ':!cmd/simcloud' ':!*_test.go'; then echo "resource types of Heat belong in pkg/openstack; use lcm.Resource.Kind"; exit 1; fi
	@if command -v shellcheck >/dev/null; then { git ls-files '*.sh'; git ls-files | xargs awk 'FNR == 1 && /^#!.*sh$$/ { print FILENAME } { nextfile }'; } | sort -u | xargs shellcheck; else echo "shellcheck is not installed: scripts are NOT checked"; fi

fmt: $(BIN)/golangci-lint ## format the tree
	$(BIN)/golangci-lint fmt ./...

tools: ## install the pinned developer tools into ./bin
	@grep -v '^#' tools.versions | while read -r name module version; do \
	  echo "installing $$name $$version"; GOFLAGS= GOBIN=$(CURDIR)/$(BIN) $(GO) install "$$module@$$version"; done

$(BIN)/golangci-lint: tools.versions
	@version=$$(awk '$$1=="golangci-lint"{print $$3}' tools.versions); \
	module=$$(awk '$$1=="golangci-lint"{print $$2}' tools.versions); \
	GOFLAGS= GOBIN=$(CURDIR)/$(BIN) $(GO) install "$$module@$$version" && touch $@

verify: ## check that the module is tidy, the tree formatted and the code vetted
	$(GO) mod tidy -diff
	$(GO) vet ./...
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }

clean: lab-down ## remove binaries, the private database and the lab
	rm -rf $(BIN) .dev
