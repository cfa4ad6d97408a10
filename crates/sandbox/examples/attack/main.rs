//! What a hostile program would try, one thing at a time.
//!
//! `attack NAME ARGUMENT…` tries it and prints what came of it: `open` when it worked, `errno N` when the
//! kernel refused, `exit N` when a program that it started ended otherwise. The tests run it confined,
//! where it must not say `open`, and unconfined, where it must: an attack that cannot work proves nothing.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::undocumented_unsafe_blocks,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a program that does what it should not"
)]

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod processes;

/// What came of it.
#[cfg(target_os = "linux")]
type Outcome = Result<(), std::io::Error>;

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, arguments) = arguments.split_first().unwrap();
    let tried = files::attempt(name, arguments)
        .or_else(|| processes::attempt(name, arguments))
        .or_else(|| network::attempt(name, arguments))
        .or_else(|| kernel::attempt(name, arguments));
    match tried {
        None => {
            println!("unknown {name}");
            std::process::exit(2);
        }
        Some(Ok(())) => println!("open"),
        Some(Err(error)) => match error.raw_os_error() {
            Some(number) => println!("errno {number}"),
            None => println!("{error}"),
        },
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}

/// The outcome of a call that answers -1 and an error.
#[cfg(target_os = "linux")]
fn call(answer: impl Into<i64>) -> Outcome {
    if answer.into() == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_os = "linux")]
fn text(path: &str) -> std::ffi::CString {
    std::ffi::CString::new(path).unwrap()
}

#[cfg(target_os = "linux")]
fn refused(number: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(number)
}
