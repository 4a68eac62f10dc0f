// Makes the messages and the service of the descriptor set that ZOO names: there need be no protoc here.
use prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed=ZOO");
    let described = std::fs::read(std::env::var("ZOO")?)?;
    let files = prost_types::FileDescriptorSet::decode(described.as_slice())?;
    tonic_prost_build::configure()
        .build_client(false)
        .compile_fds(files)?;
    Ok(())
}
