#!/bin/sh
# Runs each fuzz target of all modules for a time: fuzz.sh 10s
# An input that fails is written to testdata/fuzz beside the test. Commit it: from then on it is a case of the ordinary tests.
# FUZZ=blind does without the coverage that guides the mutations: then no dependency is compiled a second time.
set -eu

time=${1:-10s}
root=$PWD
programs=$(mktemp -d)
guided='-fuzz .'
[ "${FUZZ:-guided}" = guided ] || guided=
trap 'rm -rf "$programs"' EXIT

found=$(grep -r --include='*_test.go' -E '^func Fuzz[A-Z0-9_][A-Za-z0-9_]*\(' . | sed -E 's/^(.*)\/[^/]*:func (Fuzz[A-Za-z0-9_]*).*/\1 \2/' | sort -u)
[ -n "$found" ] || { echo "fuzz: there are no targets" >&2; exit 1; }

echo "$found" | while read -r folder target; do
	cd "$root/$folder"
	# One program for all targets of a package: linking takes longer than a short run.
	program=$programs/$(echo "$folder" | tr / _)
	[ -x "$program" ] || go test -c -ldflags=-w $guided -o "$program" .
	echo "$folder: $target for $time"
	status=0
	"$program" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.parallel "${FUZZPARALLEL:-2}" \
		-test.fuzzcachedir "$(go env GOCACHE)/fuzz/$(go list .)" >"$programs/output" 2>&1 || status=$?
	cat "$programs/output"
	# Until Go 1.27, the end of the time can be reported as a failure (go.dev/issue/75804). A real failure names its input.
	if [ $status != 0 ] && { grep -q 'Failing input written' "$programs/output" || ! grep -q 'context deadline exceeded' "$programs/output"; }; then
		exit $status
	fi
done
