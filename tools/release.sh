#!/bin/sh
# Builds what a release consists of, into bin/release, and checks it: programs, bills of materials, the chart, checksums.
# It builds everything a second time, from a copy of the sources in another folder. Both builds must have the same bytes. It uploads nothing.
# release.sh build FOLDER only builds.
set -eu
export LC_ALL=C
umask 022

version=$(git describe --tags --always --dirty 2>/dev/null) || version=unknown
date=$(git log -1 --format=%ct 2>/dev/null) || date=0 # the commit's, so that the same source gives the same archives
case $version in
v[0-9]*) chart=${version#v} ;;
*) chart=0.0.0-g$version ;; # helm wants a semantic version
esac

# archive ROOT NAME FILE packs the folder ROOT/NAME into FILE, with the same bytes each time.
archive() {
	tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$date" -C "$1" -cf - "$2" | gzip -n >"$3"
}

# build OUT
build() {
	local out=$1 platform name program
	rm -rf "$out"
	mkdir -p "$out"
	for platform in linux/amd64 linux/arm64; do
		name=fairlead_${version}_$(echo "$platform" | tr / _)
		for program in cloud-controller-manager fairlead; do
			tools/static-build.sh "$platform" "$out/$name/$program" "$program"
		done
		go run ./internal/sbom -name "$name" -version "$version" -time "$date" "$out/$name/cloud-controller-manager" "$out/$name/fairlead" >"$out/$name.cdx.json"
		cp LICENSE README.md CHANGELOG.md THIRD_PARTY.md deploy/krew/kubectl_complete-fairlead "$out/$name/"
		archive "$out" "$name" "$out/$name.tar.gz"
		rm -r "${out:?}/$name"
	done
	# helm writes the time of day into its archive, so the archive is packed again.
	"$(go tool -modfile=tools/helm/go.mod -n helm)" package charts/fairlead --version "$chart" --app-version "$version" --destination "$out" >/dev/null
	mkdir "$out/chart"
	tar -xzmf "$out/fairlead-$chart.tgz" -C "$out/chart"
	archive "$out/chart" fairlead "$out/fairlead-$chart.tgz"
	rm -r "$out/chart"
	(cd "$out" && sha256sum -- *.tar.gz >archives.txt)
	tools/krew.sh "$version" "$out/archives.txt" >"$out/krew.yaml"
	rm "$out/archives.txt"
	(cd "$out" && sha256sum -- * >"$scratch/checksums.txt")
	cp "$scratch/checksums.txt" "$out/"
}

# check OUT looks at what was built as a user would.
check() {
	local out=$1 helm archive program
	(cd "$out" && sha256sum --quiet --strict --check checksums.txt)
	helm=$(go tool -modfile=tools/helm/go.mod -n helm)
	"$helm" template --kube-version 1.37.0 ccm "$out/fairlead-$chart.tgz" --set cloudProvider=x --set image.repository=x --set image.tag=x >/dev/null
	"$helm" show chart "$out/fairlead-$chart.tgz" | grep -q "^version: $chart\$"
	for archive in "$out"/*.tar.gz; do
		tar -xzmf "$archive" -C "$scratch"
		for program in cloud-controller-manager fairlead; do
			go version -m "$scratch/$(basename "$archive" .tar.gz)/$program" >"$scratch/info"
			grep -q 'build[[:space:]]CGO_ENABLED=0$' "$scratch/info" || { echo "$archive: $program is not static" >&2; exit 1; }
			grep -q "build[[:space:]]GOARCH=$(basename "$archive" .tar.gz | sed 's/.*_//')\$" "$scratch/info" || { echo "$archive: $program is for another platform" >&2; exit 1; }
		done
	done
	program=$scratch/fairlead_${version}_linux_$(go env GOHOSTARCH)/fairlead
	"$program" version | grep -qF "$version" || { echo "$program does not say its version $version" >&2; exit 1; }
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ "${1-}" = build ]; then
	build "$2"
	exit
fi

# The workflow, the Dockerfile and everybody who compares a build use the same version of Go.
wanted=$(sed -n 's/^toolchain //p' go.mod)
[ "$(go env GOVERSION)" = "$wanted" ] || { echo "a release is built with $wanted, and this is $(go env GOVERSION). Use it: GOTOOLCHAIN=$wanted make release" >&2; exit 1; }

out=bin/release
echo "Building $version with $(go env GOVERSION). It compiles for minutes, once."
build "$out"
check "$out"
echo "Building the same from another folder."
mkdir "$scratch/copy"
tar --exclude=./bin -cf - . | tar -xf - -C "$scratch/copy"
(cd "$scratch/copy" && tools/release.sh build "$scratch/second")
diff -r "$out" "$scratch/second" || { echo "two builds of the same source differ" >&2; exit 1; }
echo "Both builds have the same bytes."

case $version in
v*-*-g* | *-dirty | [!v]* | unknown) echo "Not a release: $version is no tag of a clean tree. With one, this would be published:" ;;
*) echo "This would be published as $version:" ;;
esac
for file in "$out"/*; do
	printf '  %s, %d kB\n' "$file" $(($(wc -c <"$file") / 1000))
done
echo "  the image, for the same platforms: make image, or ko with .ko.yaml"
echo "Nothing was uploaded. docs/guides/verify-a-release.md says what .github/workflows/release.yaml adds."
