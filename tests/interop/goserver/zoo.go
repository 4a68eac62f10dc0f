package main

import (
	"context"
	"io"
	"os"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// zoo is the service of zoo.proto; its messages are those of a descriptor set, so that nothing has to be generated.
type zoo struct {
	animal, cage  protoreflect.MessageDescriptor
	name, weights protoreflect.FieldDescriptor
}

// newZoo reads a descriptor set, whose last file is the service's, and makes that known to server reflection.
func newZoo(path string) (*zoo, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, set); err != nil {
		return nil, err
	}
	file, err := protodesc.NewFile(set.File[len(set.File)-1], protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	if err := protoregistry.GlobalFiles.RegisterFile(file); err != nil {
		return nil, err
	}
	animal := file.Messages().ByName("Animal")
	return &zoo{
		animal:  animal,
		cage:    file.Messages().ByName("Cage"),
		name:    animal.Fields().ByName("name"),
		weights: animal.Fields().ByName("weights"),
	}, nil
}

// nobody has details of a type that many know, and of one that only reflection tells of.
func (z *zoo) nobody() error {
	cage := dynamicpb.NewMessage(z.cage)
	cage.Set(z.cage.Fields().ByName("name"), protoreflect.ValueOfString("empty"))
	told := &statuspb.Status{Code: int32(codes.NotFound), Message: "there is nobody"}
	for _, detail := range []proto.Message{&errdetails.ErrorInfo{Reason: "EMPTY", Domain: "zoo"}, cage} {
		packed, err := anypb.New(detail)
		if err != nil {
			return err
		}
		told.Details = append(told.Details, packed)
	}
	return status.ErrorProto(told)
}

func (z *zoo) named(name string) *dynamicpb.Message {
	animal := dynamicpb.NewMessage(z.animal)
	animal.Set(z.name, protoreflect.ValueOfString(name))
	return animal
}

func (z *zoo) receive(stream grpc.ServerStream) (*dynamicpb.Message, error) {
	animal := dynamicpb.NewMessage(z.animal)
	return animal, stream.RecvMsg(animal)
}

func (z *zoo) say(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	animal := dynamicpb.NewMessage(z.animal)
	if err := decode(animal); err != nil {
		return nil, err
	}
	if animal.Get(z.name).String() == "nobody" {
		return nil, z.nobody()
	}
	return animal, nil
}

func (z *zoo) herd(_ any, stream grpc.ServerStream) error {
	request, err := z.receive(stream)
	if err != nil {
		return err
	}
	weights := request.Get(z.weights).List()
	for i := range weights.Len() {
		animal := z.named(request.Get(z.name).String())
		animal.Mutable(z.weights).List().Append(weights.Get(i))
		if err := stream.SendMsg(animal); err != nil {
			return err
		}
	}
	return nil
}

func (z *zoo) gather(_ any, stream grpc.ServerStream) error {
	var names []string
	for {
		animal, err := z.receive(stream)
		if err == io.EOF {
			return stream.SendMsg(z.named(strings.Join(names, " ")))
		}
		if err != nil {
			return err
		}
		names = append(names, animal.Get(z.name).String())
	}
}

func (z *zoo) chat(_ any, stream grpc.ServerStream) error {
	for {
		animal, err := z.receive(stream)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.SendMsg(animal); err != nil {
			return err
		}
	}
}

func (z *zoo) described() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "foreign.v1.Zoo",
		Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: z.say}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Herd", Handler: z.herd, ServerStreams: true},
			{StreamName: "Gather", Handler: z.gather, ClientStreams: true},
			{StreamName: "Chat", Handler: z.chat, ServerStreams: true, ClientStreams: true},
		},
		Metadata: "zoo.proto",
	}
}
