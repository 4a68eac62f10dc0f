#!/usr/bin/env bash
# Makes the certificates of the TLS tests anew, next to this file; the tests themselves need no openssl.
# The authority's key is thrown away: whoever needs one more certificate runs this again.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>/dev/null; }

cat >ca.cnf <<'EOF'
[ca]
default_ca = tests
[tests]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = anything
unique_subject = no
[anything]
commonName = supplied
[req]
distinguished_name = req
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
EOF
touch index.txt

# issue NAME PURPOSE NAMES [FROM UNTIL]
issue() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=lbctl tests: $1" -config ca.cnf -out "$1.csr"
    printf '[leaf]\nbasicConstraints = critical, CA:FALSE\nextendedKeyUsage = %s\nsubjectAltName = %s\nsubjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n' \
        "$2" "$3" >"$1.ext"
    openssl ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key -in "$1.csr" -out "$1.pem" \
        -extfile "$1.ext" -extensions leaf -startdate "${4:-20200101000000Z}" -enddate "${5:-21200101000000Z}" 2>/dev/null
    cp "$1.pem" "$1.key" "$here/"
}

# itself NAME EXTENSIONS: a certificate that vouches for itself
itself() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=lbctl tests: $1" -config ca.cnf -out "$1.csr"
    openssl ca -batch -notext -selfsign -config ca.cnf -keyfile "$1.key" -in "$1.csr" -out "$1.pem" \
        -extensions "$2" ${3:+-extfile "$3"} -startdate 20200101000000Z -enddate 21200101000000Z 2>/dev/null
    cp "$1.pem" "$here/"
}

itself ca authority
issue server serverAuth "DNS:localhost, DNS:echo, IP:127.0.0.1, IP:::1"
issue other serverAuth "DNS:other.example, DNS:*.other.example, IP:192.0.2.7"
issue expired serverAuth "DNS:localhost, IP:127.0.0.1" 20200101000000Z 20210101000000Z
issue early serverAuth "DNS:localhost, IP:127.0.0.1" 21000101000000Z 21200101000000Z
issue client clientAuth "DNS:client"

printf '[leaf]\nsubjectAltName = DNS:localhost, IP:127.0.0.1\n' >alone.ext
itself alone leaf alone.ext
cp alone.key "$here/"

# The client's key behind a passphrase, which lbctl cannot ask for.
openssl pkey -in client.key -aes256 -passout pass:secret -out "$here/locked.key"
