// Echo_server is the yardstick that every client of benchmarks/ is put in front of: one process that serves the
// same gRPC services on several ports, on as many more with replies that all differ, on as many without grpc-go behind
// them (reflex.go), and, if asked to, with TLS.
//
// Services: grpc.health.v1.Health, reflection, lbctl.bench.Echo/Say, which sends its google.protobuf.BytesValue back
// unchanged, and fgrpc.PingServer/Ping, which is fortio's.
//
// It prints {"description": "grpc-go ...", "ports": {"plain": [...], "dated": [...], ...}, "ca": "FILE"} as one
// line. To every line on its standard input it answers with {"calls": N, "octets": N}: the echoes, and what was in
// their messages, since the last time. It ends when its input closes, so it cannot outlive the script that started it.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// hello is what the script that started us needs to know.
type hello struct {
	Description string           `json:"description"`
	Ports       map[string][]int `json:"ports"`
	CA          string           `json:"ca"`
}

func main() {
	ports := flag.Int("ports", 3, "how many backends, each on a port of its own")
	procs := flag.Int("procs", 1, "GOMAXPROCS")
	host := flag.String("host", "127.0.0.1", "address to listen on")
	ca := flag.String("ca", "", "serve TLS too; the certificate that clients have to trust is written to this file "+
		"unless -cert is given")
	cert := flag.String("cert", "", "certificate to serve with instead of one made at start; -ca names its authority")
	key := flag.String("key", "", "its key")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)

	if err := registerFile(); err != nil {
		log.Fatal(err)
	}
	greeting := hello{
		Description: fmt.Sprintf("grpc-go %s, %s, GOMAXPROCS=%d", grpc.Version, runtime.Version(), *procs),
		Ports: map[string][]int{
			"plain":  serve(*host, *ports, plain),
			"dated":  serve(*host, *ports, dated),
			"reflex": serveReflex(*host, *ports),
		},
		CA: *ca,
	}
	if *ca != "" {
		secure := grpc.Creds(credentials.NewServerTLSFromCert(certificate(*host, *ca, *cert, *key)))
		greeting.Ports["tls"] = serve(*host, *ports, plain, secure)
	}
	if err := json.NewEncoder(os.Stdout).Encode(greeting); err != nil {
		log.Fatal(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Printf("{\"calls\": %d, \"octets\": %d}\n", asked.calls.Swap(0), asked.octets.Swap(0))
	}
}

func certificate(host, ca, cert, key string) *tls.Certificate {
	if cert == "" {
		made, err := selfMade(host, ca)
		if err != nil {
			log.Fatal(err)
		}
		return made
	}
	given, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		log.Fatal(err)
	}
	return &given
}

// serve starts count servers on free ports of host.
func serve(host string, count int, wrap func(handler) handler, options ...grpc.ServerOption) []int {
	numbers := make([]int, 0, count)
	for range count {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			log.Fatal(err)
		}
		server := grpc.NewServer(options...)
		healthpb.RegisterHealthServer(server, health.NewServer())
		register(server, wrap)
		reflection.Register(server)
		go func() { log.Fatal(server.Serve(listener)) }()
		numbers = append(numbers, listener.Addr().(*net.TCPAddr).Port)
	}
	return numbers
}
