package main

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	file    = "lbctl/bench/echo.proto"
	message = ".google.protobuf.BytesValue"
)

// account is what was asked of all ports together: a client that sends something else than it should is found out.
type account struct {
	calls, octets atomic.Int64
}

var asked account

type handler = func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error)

// register adds the services, which are written by hand so that building this needs Go alone, no protoc. Around each
// method goes wrap.
func register(server *grpc.Server, wrap func(handler) handler) {
	for _, method := range []struct {
		service, name string
		handler       handler
	}{
		{"lbctl.bench.Echo", "Say", echo[wrapperspb.BytesValue]},
		// What fortio calls. Empty keeps the fields that it does not know, so the message returns as it came.
		{"fgrpc.PingServer", "Ping", echo[emptypb.Empty]},
	} {
		server.RegisterService(&grpc.ServiceDesc{
			ServiceName: method.service,
			HandlerType: (*any)(nil),
			Methods:     []grpc.MethodDesc{{MethodName: method.name, Handler: wrap(method.handler)}},
			Metadata:    file,
		}, nil)
	}
}

func echo[Message any](_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	value := new(Message)
	if err := decode(value); err != nil {
		return nil, err
	}
	asked.calls.Add(1)
	switch message := any(value).(type) {
	case *wrapperspb.BytesValue:
		asked.octets.Add(int64(len(message.GetValue())))
	case *emptypb.Empty:
		asked.octets.Add(int64(len(message.ProtoReflect().GetUnknown())))
	}
	return value, nil
}

func plain(method handler) handler { return method }

// dated adds what proxies and frameworks add: a trailer that differs from reply to reply.
func dated(method handler) handler {
	return func(s any, ctx context.Context, decode func(any) error, i grpc.UnaryServerInterceptor) (any, error) {
		now := time.Now().UTC().Format(time.RFC3339Nano)
		if err := grpc.SetTrailer(ctx, metadata.Pairs("date", now)); err != nil {
			return nil, err
		}
		return method(s, ctx, decode, i)
	}
}

// registerFile makes the description that reflection serves for Echo.
func registerFile() error {
	described, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name:       proto.String(file),
		Package:    proto.String("lbctl.bench"),
		Syntax:     proto.String("proto3"),
		Dependency: []string{"google/protobuf/wrappers.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: proto.String("Echo"),
			Method: []*descriptorpb.MethodDescriptorProto{{
				Name:       proto.String("Say"),
				InputType:  proto.String(message),
				OutputType: proto.String(message),
			}},
		}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		return err
	}
	return protoregistry.GlobalFiles.RegisterFile(described)
}
