#!/bin/sh
# Builds what a release consists of, into bin/release, and says what would be published. It uploads nothing.
set -eu

version=$(git describe --tags --always --dirty 2>/dev/null) || version=unknown
date=$(git log -1 --format=%ct 2>/dev/null) || date=0 # the commit's, so that the same source gives the same archives
out=bin/release
rm -rf "$out"
mkdir -p "$out"

for platform in linux/amd64 linux/arm64; do
	name=fairlead_${version}_$(echo "$platform" | tr / _)
	for program in cloud-controller-manager fairlead; do
		tools/static-build.sh "$platform" "$out/$name/$program" "$program"
	done
	cp LICENSE README.md CHANGELOG.md "$out/$name/"
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$date" -C "$out" -cf - "$name" | gzip -n >"$out/$name.tar.gz"
	rm -r "${out:?}/$name"
done
(cd "$out" && sha256sum -- *.tar.gz >checksums.txt && sha256sum --quiet --check checksums.txt)

case $version in
v*-*-g* | *-dirty | [!v]* | unknown) echo "Not a release: $version is no tag of a clean tree. With one, this would be published:" ;;
*) echo "This would be published as $version:" ;;
esac
for file in "$out"/*; do
	printf '  %s, %d kB\n' "$file" $(($(wc -c <"$file") / 1000))
done
echo "  the image, for the same platforms: make image"
echo "  the Helm chart: charts/fairlead"
echo "Nothing was uploaded."
