#!/bin/sh
# Runs "go build" and says every few seconds how far the build is: go-build.sh NAME [build flags] PACKAGE
# The control plane compiles for minutes the first time, and silence looks like a hang. A build that has nothing to do is silent.
set -eu

every=5 # seconds
name=$1
shift
for package; do :; done # the last argument

began=$(date +%s)
elapsed() { echo $(($(date +%s) - began)); }

log=$(mktemp -d)
cleanup() {
	if [ -n "${ticker-}" ]; then
		kill "$ticker" 2>/dev/null || true
		wait "$ticker" 2>/dev/null || true
	fi
	rm -rf "$log"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
touch "$log/packages" "$log/output"

progress() {
	compiled=$(grep -vc '^go: ' "$log/output" || true)
	if [ "$compiled" -gt 0 ]; then
		echo "$name: compiled $compiled of at most $(grep -c . "$log/packages") packages, $(elapsed) s"
	else
		echo "$name: loading, $(grep -c '^go: downloading' "$log/output" || true) modules downloaded, $(elapsed) s"
	fi
}

# The ticker runs in the background and the build in the foreground, so that Ctrl-C reaches the build.
# A command of the ticker may outlive the ticker and find its files gone, so errors of the ticker are not shown.
while sleep "$every" >/dev/null 2>&1 && [ -d "$log" ]; do progress 2>/dev/null; done &
ticker=$!

if ! { go list -deps "$package" >"$log/packages" && go build -v "$@"; } 2>"$log/output"; then
	# Show the output without the names of the packages.
	grep -vxF -f "$log/packages" "$log/output" >&2 || true
	echo "$name: the build failed after $(elapsed) s" >&2
	exit 1
fi
if [ "$(elapsed)" -ge "$every" ]; then
	echo "$name: built in $(elapsed) s"
fi
