#!/bin/sh
# Builds a program for a platform, static, as it goes into an image or a release; without a name the daemon: static-build.sh linux/arm64 FILE [PROGRAM]
set -eu

# What a machine's own environment could change is set.
export CGO_ENABLED=0 GOOS="${1%/*}" GOARCH="${1#*/}" GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOFIPS140=off
go build -trimpath -buildvcs=false -ldflags "-s -w $(tools/version-flags.sh)" -o "$2" "./cmd/${3:-cloud-controller-manager}"
