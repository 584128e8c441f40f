#!/bin/sh
# Prints the statement coverage of each decide.go and rules_*.go under internal, by the tests of its own package, and fails
# below 100 %: each rule has a test.
set -eu

packages=$(find internal \( -name decide.go -o -name 'rules_*.go' \) | sed 's|/[^/]*$||' | sort -u)
profile=$(mktemp)
trap 'rm -f "$profile" "$profile.log"' EXIT
# shellcheck disable=SC2086 # one word for each package
go test -vet=off -ldflags=-w -coverprofile="$profile" $(printf './%s ' $packages) >"$profile.log" 2>&1 || { cat "$profile.log" >&2; exit 1; }

# A line of the profile: module/path/file.go:12.5,14.3 statements count
sort "$profile" | awk -v module="$(go list -m)/" '
	{ split($1, at, ":"); file = at[1] }
	file !~ /\/(decide|rules_[a-z0-9_]+)\.go$/ { next }
	$2 == 0 { next } # a case without statements
	{ sub(module, "", file); all[file] += $2 }
	$3 > 0 { covered[file] += $2; next }
	{ split(at[2], range, /[.,]/); missed[file] = missed[file] sprintf("  %s:%d: no test gets here\n", file, range[1]) }
	END {
		for (file in all) {
			printf "%5.1f %%  %s\n%s", 100 * covered[file] / all[file], file, missed[file] | "sort -k 3"
			if (covered[file] < all[file]) below++
		}
		close("sort -k 3")
		if (length(all) == 0) { print "cover: there are no rules" > "/dev/stderr"; exit 1 }
		if (below > 0) { printf "cover: %d of %d files are below 100 %%\n", below, length(all) > "/dev/stderr"; exit 1 }
	}'
