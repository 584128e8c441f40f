#!/bin/sh
# Builds the daemon for both platforms as it goes into an image, and the image too where docker is: image.sh [NAME:TAG]
set -eu

image=${1:-cloud-controller-manager:dev}
for platform in linux/amd64 linux/arm64; do
	file=bin/image/${platform#*/}/cloud-controller-manager
	tools/static-build.sh "$platform" "$file"
	for setting in CGO_ENABLED=0 "GOARCH=${platform#*/}"; do
		go version -m "$file" | grep -q "build[[:space:]]$setting\$" || { echo "$file was not built with $setting" >&2; exit 1; }
	done
	echo "$file: $(($(wc -c <"$file") / 1000000)) MB, static"
done
if command -v docker >/dev/null; then
	docker buildx build --platform linux/amd64,linux/arm64 --tag "$image" .
else
	echo "no docker here: the image itself is not built. With it: docker buildx build --platform linux/amd64,linux/arm64 --tag $image --push ."
fi
