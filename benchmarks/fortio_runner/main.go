// Fortio_runner is fortio's gRPC load, as `fortio load -grpc -ping` starts it, without fortio's command line: that one
// comes with a script engine and servers that a measurement has no use for.
//
// It calls fgrpc.PingServer/Ping, which is the method fortio has generated code for, as fast as replies come, and
// prints fortio's result as JSON. Its status is 1 when any call failed.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
	"strings"

	"fortio.org/fortio/fgrpc"
	"fortio.org/fortio/fhttp"
	"fortio.org/fortio/periodic"
	flog "fortio.org/log"
)

func main() {
	calls := flag.Int64("n", 1000, "how many calls")
	connections := flag.Int("c", 1, "connections")
	streams := flag.Int("s", 1, "calls in flight on each")
	size := flag.Int("payload-size", 0, "bytes in a message's payload")
	ca := flag.String("cacert", "", "use TLS, and trust this authority")
	flag.Parse()
	flog.SetLogLevel(flog.Warning)

	result, err := fgrpc.RunGRPCTest(&fgrpc.GRPCRunnerOptions{
		RunnerOptions: periodic.RunnerOptions{
			QPS:         -1,
			Exactly:     *calls,
			NumThreads:  *connections,
			Percentiles: []float64{50, 99},
			Resolution:  0.000_01,
			Out:         os.Stderr,
		},
		TLSOptions:  fhttp.TLSOptions{CACert: *ca},
		Destination: flag.Arg(0),
		Streams:     *streams,
		Payload:     strings.Repeat("x", *size),
		UsePing:     true,
	})
	if err != nil {
		log.Fatal(err)
	}
	if result.RetCodes[fgrpc.Error] > 0 {
		log.Fatalf("calls failed: %v", result.RetCodes)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
