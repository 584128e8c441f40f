#!/bin/sh
# Builds a static program for a platform, as it goes into an image or a release: static-build.sh linux/arm64 FILE [PROGRAM]. Without PROGRAM it builds the daemon.
set -eu

# All settings that the environment of a machine could change have fixed values here.
export CGO_ENABLED=0 GOOS="${1%/*}" GOARCH="${1#*/}" GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOFIPS140=off
# Without gRPC's own tracing, the linker drops the methods that nobody calls.
go build -trimpath -buildvcs=false -tags=grpcnotrace -ldflags "-s -w $(tools/version-flags.sh)" -o "$2" "./cmd/${3:-cloud-controller-manager}"
