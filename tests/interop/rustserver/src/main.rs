// The service of zoo.proto on tonic, with its health and server reflection: prints its port, ends when its input does.
use std::pin::Pin;

use prost::Message;
use prost_types::Any;
use tokio::io::AsyncReadExt;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_types::pb;

mod zoo {
    tonic::include_proto!("foreign.v1");
}
use zoo::zoo_server::{Zoo, ZooServer};
use zoo::{Animal, Cage};

const DESCRIBED: &[u8] = include_bytes!(env!("ZOO"));

type Animals = Pin<Box<dyn Stream<Item = Result<Animal, Status>> + Send>>;

// Its details are of a type that many know, and of one that only reflection tells of.
fn nobody() -> Status {
    let reason = pb::ErrorInfo {
        reason: "EMPTY".into(),
        domain: "zoo".into(),
        metadata: Default::default(),
    };
    let cage = Cage {
        name: "empty".into(),
        inside: None,
    };
    let details = vec![
        Any {
            type_url: "type.googleapis.com/google.rpc.ErrorInfo".into(),
            value: reason.encode_to_vec(),
        },
        Any {
            type_url: "type.googleapis.com/foreign.v1.Cage".into(),
            value: cage.encode_to_vec(),
        },
    ];
    let status = pb::Status {
        code: Code::NotFound as i32,
        message: "there is nobody".into(),
        details,
    };
    Status::with_details(
        Code::NotFound,
        "there is nobody",
        status.encode_to_vec().into(),
    )
}

struct Keeper;

#[tonic::async_trait]
impl Zoo for Keeper {
    async fn say(&self, request: Request<Animal>) -> Result<Response<Animal>, Status> {
        let animal = request.into_inner();
        if animal.name == "nobody" {
            Err(nobody())
        } else {
            Ok(Response::new(animal))
        }
    }

    type HerdStream = Animals;

    async fn herd(&self, request: Request<Animal>) -> Result<Response<Animals>, Status> {
        let Animal { name, weights, .. } = request.into_inner();
        let herd = weights.into_iter().map(move |weight| {
            Ok(Animal {
                name: name.clone(),
                weights: vec![weight],
                ..Default::default()
            })
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(herd))))
    }

    async fn gather(
        &self,
        request: Request<Streaming<Animal>>,
    ) -> Result<Response<Animal>, Status> {
        let mut animals = request.into_inner();
        let mut names = Vec::new();
        while let Some(animal) = animals.message().await? {
            names.push(animal.name);
        }
        Ok(Response::new(Animal {
            name: names.join(" "),
            ..Default::default()
        }))
    }

    type ChatStream = Animals;

    async fn chat(&self, request: Request<Streaming<Animal>>) -> Result<Response<Animals>, Status> {
        Ok(Response::new(Box::pin(
            request.into_inner().map(|animal| animal),
        )))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse()?)?;
    let (health, checks) = tonic_health::server::health_reporter();
    health.set_serving::<ZooServer<Keeper>>().await;
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIBED)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let service = Server::builder()
        .add_service(ZooServer::new(Keeper))
        .add_service(checks)
        .add_service(described().build_v1()?)
        .add_service(described().build_v1alpha()?);
    println!("{}", incoming.local_addr()?.port());
    let ended = async {
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
    };
    service
        .serve_with_incoming_shutdown(incoming, ended)
        .await?;
    Ok(())
}
