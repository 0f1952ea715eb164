VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOBUILD  = CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)'
MAX_SIZE = 25000000

.DEFAULT_GOAL := help
.PHONY: help build demo test soak bench check cross deb clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/capd, one static program for this machine
	$(GOBUILD) -o bin/capd ./cmd/capd

demo: build ## a simulated plant and a daemon to connect to; Ctrl-C ends it
	bin/capd demo

test: ## everything: vet, race detector, 32 bits, peers, all architectures, the package under systemd
	@VERSION='$(VERSION)' test/all.sh

soak: ## Modbus for an hour on TCP, a serial line and a gateway with random faults; CAPD_SOAK=10m for less
	CAPD_SOAK=$${CAPD_SOAK:-1h} go test -run 'TestSoak$$' -v -count=1 -parallel 8 -timeout 24h ./internal/hal/modbus

bench: ## the figures of docs/performance.md, on a quiet machine
	@VERSION='$(VERSION)' test/bench.sh

check: ## gofmt, vet, staticcheck, shellcheck where installed, checksums of the modules
	@test/check.sh

cross: ## bin/capd-linux-{amd64,arm64,armv7,386}, with their sizes
	@set -e; for arch in amd64 arm64 armv7 386; do \
		GOOS=linux GOARCH=$${arch%v7} GOARM=7 $(GOBUILD) -o bin/capd-linux-$$arch ./cmd/capd; \
		size=$$(wc -c <bin/capd-linux-$$arch); echo "bin/capd-linux-$$arch $$size bytes"; \
		[ "$$size" -le $(MAX_SIZE) ] || { echo "capd-linux-$$arch: over the limit of $(MAX_SIZE) bytes" >&2; exit 1; }; \
	done

deb: cross ## bin/capd_VERSION_{amd64,arm64,armhf,i386}.deb
	@packaging/deb.sh '$(VERSION)'

clean: ## remove bin/
	rm -rf bin
