#!/bin/sh
# Says what this machine lacks and what to do about it: need.sh [linux]
set -eu

die() {
	printf 'fairlead: %s\n' "$@" >&2
	exit 1
}

wanted=$(awk '$1 == "go" { print $2 }' go.mod playground/go.mod | sort -V | tail -n 1)

if [ "${1-}" = linux ] && [ "$(uname -s)" != Linux ]; then
	die "this target starts a real Kubernetes control plane and kubelets, which need Linux; this is $(uname -s)." \
		"Use a Linux machine, a virtual machine or WSL2. 'make bin/cloud-controller-manager bin/simcloud' works here."
fi
command -v git >/dev/null ||
	die "git is missing. Install it with your package manager, for example: sudo apt-get install git"
command -v go >/dev/null ||
	die "Go is missing, $wanted or newer is needed: https://go.dev/doc/install" \
		"If it is installed, add it to PATH: export PATH=\$PATH:/usr/local/go/bin"
# An old go rejects go.mod; a recent one fetches the version it needs by itself, unless GOTOOLCHAIN=local.
if ! problem=$(go list -m 2>&1 && cd playground && go list -m 2>&1); then
	have=$(GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//')
	[ "$(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1)" != "$wanted" ] ||
		die "Go $have is new enough, but go list -m fails: $problem"
	die "Go $wanted or newer is needed, this is $(GOTOOLCHAIN=local go version 2>/dev/null | cut -d ' ' -f 3): https://go.dev/doc/install" \
		"Go 1.21 and later fetch it themselves: export GOTOOLCHAIN=auto" "go says: $problem"
fi
