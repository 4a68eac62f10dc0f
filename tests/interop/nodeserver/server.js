// The service of zoo.proto on @grpc/grpc-js, with its health and server reflection: prints its port, ends when its
// input does.
"use strict";

const path = require("path");
// Its packages are installed elsewhere: the folder is given.
const { createRequire } = require("module");
const find = createRequire(path.join(process.argv[2], "package.json"));
const grpc = find("@grpc/grpc-js");
const loader = find("@grpc/proto-loader");
const { ReflectionService } = find("@grpc/reflection");
const { HealthImplementation } = find("grpc-health-check");

const source = path.join(__dirname, "..", "zoo.proto");
const described = loader.loadSync(source, { longs: String, bytes: Buffer, oneofs: true });
const { Zoo } = grpc.loadPackageDefinition(described).foreign.v1;

// What gRPC's packages for Node.js do not have: the message in which a status has details.
const rpc = loader.fromJSON({
  nested: {
    Status: {
      fields: {
        code: { type: "int32", id: 1 },
        message: { type: "string", id: 2 },
        details: { rule: "repeated", type: "Detail", id: 3 },
      },
    },
    Detail: { fields: { typeUrl: { type: "string", id: 1 }, value: { type: "bytes", id: 2 } } },
    ErrorInfo: { fields: { reason: { type: "string", id: 1 }, domain: { type: "string", id: 2 } } },
  },
});
const detail = (type, value) => ({ typeUrl: `type.googleapis.com/${type}`, value });

// Its details are of a type that many know, and of one that only reflection tells of.
function nobody() {
  const details = [
    detail("google.rpc.ErrorInfo", rpc.ErrorInfo.serialize({ reason: "EMPTY", domain: "zoo" })),
    detail("foreign.v1.Cage", described["foreign.v1.Cage"].serialize({ name: "empty" })),
  ];
  const told = { code: grpc.status.NOT_FOUND, message: "there is nobody", details };
  const metadata = new grpc.Metadata();
  metadata.set("grpc-status-details-bin", rpc.Status.serialize(told));
  return { code: told.code, details: told.message, metadata };
}

const server = new grpc.Server();
server.addService(Zoo.service, {
  Say: (call, done) => {
    if (call.request.name === "nobody") done(nobody());
    else done(null, call.request);
  },
  Herd: (call) => {
    for (const weight of call.request.weights) call.write({ name: call.request.name, weights: [weight] });
    call.end();
  },
  Gather: (call, done) => {
    const names = [];
    call.on("data", (animal) => names.push(animal.name));
    call.on("end", () => done(null, { name: names.join(" ") }));
  },
  Chat: (call) => {
    call.on("data", (animal) => call.write(animal));
    call.on("end", () => call.end());
  },
});
new HealthImplementation({ "": "SERVING" }).addToServer(server);
new ReflectionService(described).addToServer(server);
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(port);
});
process.stdin.on("end", () => server.forceShutdown());
process.stdin.resume();
