// Echo_server is the yardstick that benchmarks/engine.py puts every client in front of: one process that
// serves the same gRPC services on several ports.
//
// Services: grpc.health.v1.Health, reflection, and lbctl.bench.Echo/Say, which sends its
// google.protobuf.BytesValue back unchanged. It prints {"description": "grpc-go ...", "ports": [...]} as one
// line and ends when its standard input closes, so it cannot outlive the script that started it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// hello is what the script that started us needs to know.
type hello struct {
	Description string `json:"description"`
	Ports       []int  `json:"ports"`
}

func main() {
	ports := flag.Int("ports", 3, "how many backends, each on a port of its own")
	procs := flag.Int("procs", 1, "GOMAXPROCS")
	host := flag.String("host", "127.0.0.1", "address to listen on")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)

	servers, numbers, err := serve(*host, *ports)
	if err != nil {
		log.Fatal(err)
	}
	description := fmt.Sprintf("grpc-go %s, %s, GOMAXPROCS=%d", grpc.Version, runtime.Version(), *procs)
	if err := json.NewEncoder(os.Stdout).Encode(hello{description, numbers}); err != nil {
		log.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, server := range servers {
		server.Stop()
	}
}

// serve starts count servers on free ports of host.
func serve(host string, count int) ([]*grpc.Server, []int, error) {
	if err := registerFile(); err != nil {
		return nil, nil, err
	}
	servers, numbers := make([]*grpc.Server, 0, count), make([]int, 0, count)
	for range count {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, nil, err
		}
		server := grpc.NewServer()
		healthpb.RegisterHealthServer(server, health.NewServer())
		server.RegisterService(&echoService, nil)
		reflection.Register(server)
		go func() {
			if err := server.Serve(listener); err != nil {
				log.Fatal(err)
			}
		}()
		servers, numbers = append(servers, server), append(numbers, listener.Addr().(*net.TCPAddr).Port)
	}
	return servers, numbers, nil
}
