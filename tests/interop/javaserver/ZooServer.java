// The service of zoo.proto on grpc-java, with its health and server reflection: prints its port, ends when its input
// does.
// The messages are those of a descriptor set, whose file is given: nothing has to be generated.

import com.google.protobuf.Any;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.ProtoFileDescriptorSupplier;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.protobuf.StatusProto;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionService;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

public final class ZooServer {
    private static final String SERVICE = "foreign.v1.Zoo";

    private final FileDescriptor file;
    private final Descriptor animal;
    private final FieldDescriptor name;
    private final FieldDescriptor weights;

    private ZooServer(FileDescriptor file) {
        this.file = file;
        animal = file.findMessageTypeByName("Animal");
        name = animal.findFieldByName("name");
        weights = animal.findFieldByName("weights");
    }

    /** The last file of a descriptor set, which holds what a file imports before it. */
    private static FileDescriptor described(byte[] set) throws Exception {
        Map<String, FileDescriptor> built = new HashMap<>();
        FileDescriptor last = null;
        for (FileDescriptorProto file : FileDescriptorSet.parseFrom(set).getFileList()) {
            FileDescriptor[] imports =
                    file.getDependencyList().stream().map(built::get).toArray(FileDescriptor[]::new);
            last = FileDescriptor.buildFrom(file, imports);
            built.put(file.getName(), last);
        }
        return last;
    }

    private DynamicMessage named(Object given) {
        return DynamicMessage.newBuilder(animal).setField(name, given).build();
    }

    /** Its details are of a type that many know, and of one that only reflection tells of. */
    private StatusRuntimeException nobody() {
        Descriptor cage = file.findMessageTypeByName("Cage");
        DynamicMessage empty =
                DynamicMessage.newBuilder(cage).setField(cage.findFieldByName("name"), "empty").build();
        return StatusProto.toStatusRuntimeException(Status.newBuilder()
                .setCode(Code.NOT_FOUND_VALUE)
                .setMessage("there is nobody")
                .addDetails(Any.pack(ErrorInfo.newBuilder().setReason("EMPTY").setDomain("zoo").build()))
                .addDetails(Any.pack(empty))
                .build());
    }

    private void say(DynamicMessage request, StreamObserver<DynamicMessage> reply) {
        if (request.getField(name).equals("nobody")) {
            reply.onError(nobody());
        } else {
            reply.onNext(request);
            reply.onCompleted();
        }
    }

    private void herd(DynamicMessage request, StreamObserver<DynamicMessage> replies) {
        for (Object weight : (List<?>) request.getField(weights)) {
            replies.onNext(named(request.getField(name)).toBuilder().addRepeatedField(weights, weight).build());
        }
        replies.onCompleted();
    }

    private StreamObserver<DynamicMessage> gather(StreamObserver<DynamicMessage> reply) {
        List<String> names = new ArrayList<>();
        return observer(reply, animal -> names.add((String) animal.getField(name)), () -> {
            reply.onNext(named(String.join(" ", names)));
            reply.onCompleted();
        });
    }

    private StreamObserver<DynamicMessage> chat(StreamObserver<DynamicMessage> replies) {
        return observer(replies, replies::onNext, replies::onCompleted);
    }

    private static StreamObserver<DynamicMessage> observer(
            StreamObserver<DynamicMessage> replies, Consumer<DynamicMessage> each, Runnable end) {
        return new StreamObserver<>() {
            @Override
            public void onNext(DynamicMessage message) {
                each.accept(message);
            }

            @Override
            public void onError(Throwable error) {
                replies.onError(error);
            }

            @Override
            public void onCompleted() {
                end.run();
            }
        };
    }

    private MethodDescriptor<DynamicMessage, DynamicMessage> method(String name, MethodType type) {
        var marshaller = ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(animal));
        return MethodDescriptor.newBuilder(marshaller, marshaller)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .setType(type)
                .build();
    }

    private ServerServiceDefinition service() {
        var say = method("Say", MethodType.UNARY);
        var herd = method("Herd", MethodType.SERVER_STREAMING);
        var gather = method("Gather", MethodType.CLIENT_STREAMING);
        var chat = method("Chat", MethodType.BIDI_STREAMING);
        ProtoFileDescriptorSupplier schema = () -> file;
        ServiceDescriptor descriptor = ServiceDescriptor.newBuilder(SERVICE)
                .setSchemaDescriptor(schema)
                .addMethod(say)
                .addMethod(herd)
                .addMethod(gather)
                .addMethod(chat)
                .build();
        return ServerServiceDefinition.builder(descriptor)
                .addMethod(say, ServerCalls.asyncUnaryCall(this::say))
                .addMethod(herd, ServerCalls.asyncServerStreamingCall(this::herd))
                .addMethod(gather, ServerCalls.asyncClientStreamingCall(this::gather))
                .addMethod(chat, ServerCalls.asyncBidiStreamingCall(this::chat))
                .build();
    }

    @SuppressWarnings("deprecation") // v1alpha is old, and asked for all the same
    public static void main(String[] arguments) throws Exception {
        HealthStatusManager health = new HealthStatusManager();
        health.setStatus(SERVICE, ServingStatus.SERVING);
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
                .addService(new ZooServer(described(Files.readAllBytes(Path.of(arguments[0])))).service())
                .addService(health.getHealthService())
                .addService(ProtoReflectionServiceV1.newInstance())
                .addService(ProtoReflectionService.newInstance())
                .build()
                .start();
        System.out.println(server.getPort());
        System.in.transferTo(OutputStream.nullOutputStream());
        server.shutdownNow();
    }
}
