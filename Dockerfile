# syntax=docker/dockerfile:1
# The daemon with the simulated provider. For your own: COPY your sources, and build your main package.
# Without a container engine: make image
# The images are pinned by digest with the first run of the updater that renovate.json configures.

# The compiler runs on this machine's platform, and makes the program for the image's.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    tools/static-build.sh "$TARGETOS/$TARGETARCH" /cloud-controller-manager

# No shell and no libraries; the certificates of public authorities, and time zones.
FROM gcr.io/distroless/static:nonroot
COPY --from=build /cloud-controller-manager /usr/local/bin/cloud-controller-manager
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/cloud-controller-manager"]
LABEL org.opencontainers.image.title="cloud-controller-manager" \
      org.opencontainers.image.description="Fairlead with the simulated provider" \
      org.opencontainers.image.source="https://github.com/fairlead-k8s/fairlead" \
      org.opencontainers.image.licenses="Apache-2.0"
