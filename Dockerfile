# Builds the static gybe binary. The image contains only this binary and runs as an unprivileged user.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/gybe ./cmd/gybe \
 && mkdir -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/gybe /gybe
COPY --from=build --chown=65534:65534 /out/data /var/lib/gybe
USER 65534:65534
# The address is not a loopback one, so the container starts only with a mode of authentication, for example
# GYBE_AUTH_TOKENS_FILE=/etc/gybe/tokens, or with GYBE_AUTH_NONE=true behind an authenticating proxy (docs/security.md).
ENV GYBE_DATA_DIR=/var/lib/gybe GYBE_LISTEN=0.0.0.0:9890
VOLUME /var/lib/gybe
EXPOSE 9890
ENTRYPOINT ["/gybe"]
CMD ["serve"]
