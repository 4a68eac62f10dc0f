package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	file    = "lbctl/bench/echo.proto"
	message = ".google.protobuf.BytesValue"
)

// echoService is written by hand so that building this needs Go alone, no protoc.
var echoService = grpc.ServiceDesc{
	ServiceName: "lbctl.bench.Echo",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: say}},
	Metadata:    file,
}

func say(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	value := new(wrapperspb.BytesValue)
	if err := decode(value); err != nil {
		return nil, err
	}
	return value, nil
}

// registerFile makes the description that reflection serves for echoService.
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
