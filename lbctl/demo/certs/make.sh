#!/usr/bin/env bash
# Makes the certificates of `lbctl demo --tls` anew, next to this file. They vouch for nothing but a demo on this
# machine: the authority's key is thrown away, the others are for everybody to read.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

# issue NAME PURPOSE NAMES
issue() {
    key "$here/$1.key"
    openssl req -new -key "$here/$1.key" -subj "/CN=lbctl demo $1" -out "$1.csr"
    printf 'basicConstraints = critical, CA:FALSE\nextendedKeyUsage = %s\nsubjectAltName = %s\n' "$2" "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$here/ca.pem" -CAkey ca.key -CAserial ca.srl -CAcreateserial -days 36500 -extfile "$1.ext" \
        -out "$here/$1.pem" 2>/dev/null
}

key ca.key
openssl req -x509 -new -key ca.key -subj "/CN=lbctl demo" -days 36500 -out "$here/ca.pem"
issue server serverAuth "DNS:localhost, DNS:echo, DNS:shop, IP:127.0.0.1"
issue client clientAuth "DNS:client"
