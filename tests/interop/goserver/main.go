// The interoperability service on grpc-go, with its health and server reflection: prints its port, ends when its input
// does. Given a descriptor set of zoo.proto it offers that service as well.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

type server struct {
	pb.UnimplementedTestServiceServer
}

func failure(told *pb.EchoStatus) error {
	if told.GetCode() == 0 {
		return nil
	}
	return status.Error(codes.Code(told.GetCode()), told.GetMessage())
}

func payload(size int32) *pb.Payload {
	return &pb.Payload{Body: make([]byte, size)}
}

func (server) EmptyCall(context.Context, *pb.Empty) (*pb.Empty, error) {
	return &pb.Empty{}, nil
}

func (server) UnaryCall(ctx context.Context, in *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if err := failure(in.GetResponseStatus()); err != nil {
		return nil, err
	}
	if in.GetResponseCompressed().GetValue() {
		if err := grpc.SetSendCompressor(ctx, "gzip"); err != nil {
			return nil, err
		}
	}
	return &pb.SimpleResponse{Payload: payload(in.GetResponseSize())}, nil
}

type sender interface {
	Send(*pb.StreamingOutputCallResponse) error
}

func answer(in *pb.StreamingOutputCallRequest, out sender) error {
	for _, wanted := range in.GetResponseParameters() {
		time.Sleep(time.Duration(wanted.GetIntervalUs()) * time.Microsecond)
		if err := out.Send(&pb.StreamingOutputCallResponse{Payload: payload(wanted.GetSize())}); err != nil {
			return err
		}
	}
	return nil
}

func (server) StreamingOutputCall(in *pb.StreamingOutputCallRequest, out grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	return answer(in, out)
}

func (server) StreamingInputCall(in grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	total := 0
	for {
		message, err := in.Recv()
		if err == io.EOF {
			return in.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(total)})
		}
		if err != nil {
			return err
		}
		total += len(message.GetPayload().GetBody())
	}
}

func (server) FullDuplexCall(both grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		message, err := both.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := failure(message.GetResponseStatus()); err != nil {
			return err
		}
		if err := answer(message, both); err != nil {
			return err
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	service := grpc.NewServer()
	pb.RegisterTestServiceServer(service, server{})
	if len(os.Args) > 1 {
		offered, err := newZoo(os.Args[1])
		if err != nil {
			log.Fatal(err)
		}
		service.RegisterService(offered.described(), nil)
	}
	grpc_health_v1.RegisterHealthServer(service, health.NewServer())
	reflection.Register(service)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		service.Stop()
	}()
	if err := service.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
