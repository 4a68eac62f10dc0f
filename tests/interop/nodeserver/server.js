// The service of zoo.proto on @grpc/grpc-js, with server reflection: prints its port, ends when its input does.
"use strict";

const path = require("path");
// Its packages are installed elsewhere: the folder is given.
const { createRequire } = require("module");
const find = createRequire(path.join(process.argv[2], "package.json"));
const grpc = find("@grpc/grpc-js");
const loader = find("@grpc/proto-loader");
const { ReflectionService } = find("@grpc/reflection");

const described = loader.loadSync(path.join(__dirname, "zoo.proto"), { longs: String, bytes: Buffer, oneofs: true });
const { Zoo } = grpc.loadPackageDefinition(described).foreign.v1;

const server = new grpc.Server();
server.addService(Zoo.service, {
  Say: (call, done) => {
    if (call.request.name === "nobody") done({ code: grpc.status.NOT_FOUND, details: "there is nobody" });
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
new ReflectionService(described).addToServer(server);
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(port);
});
process.stdin.on("end", () => server.forceShutdown());
process.stdin.resume();
