#!/bin/sh
# Builds the daemon as it goes into an image, for a platform: static-build.sh linux/arm64 FILE
set -eu

export CGO_ENABLED=0 GOOS="${1%/*}" GOARCH="${1#*/}"
go build -trimpath -buildvcs=false -ldflags "-s -w $(tools/version-flags.sh)" -o "$2" ./cmd/cloud-controller-manager
