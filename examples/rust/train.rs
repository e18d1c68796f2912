//! train.rs - one epoch in Rust: batches/s, the mean of the images, how many labels there are.
//!
//!     train SPEC_OR_NAME [GROUP] [--hash]
//!
//! An existing file or folder, or text that begins with '{', is opened: an engine is started for this program
//! alone. Anything else is the name of a running engine. --hash prints "TICKET HASH" for each batch, see
//! examples/README.md. Needs nothing but the standard library: `sys` says what spdl.h says, and the rest makes it
//! safe, a batch being borrowed from its reader and released when it is dropped.
//!
//!     rustc -O --edition 2021 train.rs $(pkg-config --libs-only-L spdl) -l spdl -o train
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::time::Instant;
use std::{env, fmt, marker, mem, path, process, ptr, slice};

mod sys {
    use std::os::raw::{c_char, c_int, c_void};

    pub const OK: c_int = 0;
    pub const END_EPOCH: c_int = 2;
    pub const END_DATA: c_int = 3;
    pub const FOREVER: i64 = -1;
    pub const ANY_LANE: i32 = -1;
    pub const INT: u8 = 0;
    pub const UINT: u8 = 1;
    pub const FLOAT: u8 = 2;

    #[repr(C)]
    pub struct AttachOpts {
        pub struct_size: u32,
        pub flags: u32,
        pub group: *const c_char,
        pub lane: i32,
        pub max_leases: u32,
        pub timeout_ns: i64,
        pub client: *const c_char,
    }

    #[repr(C)]
    pub struct OpenOpts {
        pub struct_size: u32,
        pub form: u32,
        pub attach: AttachOpts,
        pub engine: *const c_char,
        pub args: *const *const c_char,
        pub state: *const c_char,
    }

    #[repr(C)]
    pub struct Batch {
        pub struct_size: u32,
        pub rows: u32,
        pub ticket: u64,
        pub epoch: u64,
        pub step: u64,
        pub lane: u32,
        pub attempts: u32,
        pub flags: u32,
        pub n_bad: u32,
        pub hash: u64,
        pub fetched_ns: u64,
        pub decoded_ns: u64,
        pub published_ns: u64,
        pub data: *const c_void,
        pub data_bytes: u64,
        pub token: u64,
        pub slot: u32,
        pub reserved: u32,
    }

    #[repr(C)]
    pub struct Tensor {
        pub struct_size: u32,
        pub kind: u32,
        pub name: *const c_char,
        pub data: *mut c_void,
        pub bytes: u64,
        pub role: u32,
        pub dtype_code: u8,
        pub dtype_bits: u8,
        pub dtype_lanes: u16,
        pub ndim: u32,
        pub axes: u32,
        pub shape: [i64; 8],
        pub strides: [i64; 8],
        pub offsets: *const i64,
        pub device_type: i32,
        pub device_id: i32,
    }

    pub enum Reader {}

    #[link(name = "spdl")]
    extern "C" {
        pub fn spdl_last_error() -> *const c_char;
        pub fn spdl_open(spec: *const c_char, opts: *const OpenOpts, out: *mut *mut Reader) -> c_int;
        pub fn spdl_attach(name: *const c_char, opts: *const AttachOpts, out: *mut *mut Reader) -> c_int;
        pub fn spdl_detach(reader: *mut Reader) -> c_int;
        pub fn spdl_acquire(reader: *mut Reader, timeout_ns: i64, out: *mut Batch) -> c_int;
        pub fn spdl_release(reader: *mut Reader, batch: *const Batch) -> c_int;
        pub fn spdl_n_tensors(reader: *const Reader) -> u32;
        pub fn spdl_tensor_index(reader: *const Reader, name: *const c_char) -> i32;
        pub fn spdl_batch_tensor(reader: *mut Reader, batch: *const Batch, i: u32, out: *mut Tensor) -> c_int;
    }
}

/// The text of this thread's last failed call.
struct Error(String);

impl Error {
    fn last() -> Error {
        Error(
            unsafe { CStr::from_ptr(sys::spdl_last_error()) }
                .to_string_lossy()
                .into_owned(),
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct Reader(*mut sys::Reader);

impl Reader {
    fn new(what: &str, group: Option<&str>) -> Result<Reader, Error> {
        let no_zero = |text: &str| CString::new(text).map_err(|_| Error(format!("{:?} contains a zero byte", text)));
        let name = no_zero(what)?;
        let group = group.map(no_zero).transpose()?;
        let client = no_zero("rust")?;
        let attach = sys::AttachOpts {
            struct_size: mem::size_of::<sys::AttachOpts>() as u32,
            flags: 0,
            group: group.as_ref().map_or(ptr::null(), |g| g.as_ptr()),
            lane: sys::ANY_LANE,
            max_leases: 1, // each batch is released before the next is asked for
            timeout_ns: 0,
            client: client.as_ptr(),
        };
        let mut reader = ptr::null_mut();
        let status = if what.starts_with('{') || path::Path::new(what).exists() {
            let opts = sys::OpenOpts {
                struct_size: mem::size_of::<sys::OpenOpts>() as u32,
                form: 0,
                attach,
                engine: ptr::null(),
                args: ptr::null(),
                state: ptr::null(),
            };
            unsafe { sys::spdl_open(name.as_ptr(), &opts, &mut reader) }
        } else {
            unsafe { sys::spdl_attach(name.as_ptr(), &attach, &mut reader) }
        };
        if status == sys::OK {
            Ok(Reader(reader))
        } else {
            Err(Error::last())
        }
    }

    /// The next batch; None at the end of the epoch. One at a time: the batch borrows the reader.
    fn next(&mut self) -> Result<Option<Batch<'_>>, Error> {
        let mut raw: sys::Batch = unsafe { mem::zeroed() };
        raw.struct_size = mem::size_of::<sys::Batch>() as u32;
        match unsafe { sys::spdl_acquire(self.0, sys::FOREVER, &mut raw) } {
            sys::OK => Ok(Some(Batch { reader: self, raw })),
            sys::END_EPOCH | sys::END_DATA => Ok(None),
            _ => Err(Error::last()),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        unsafe { sys::spdl_detach(self.0) };
    }
}

struct Batch<'r> {
    reader: &'r Reader,
    raw: sys::Batch,
}

impl Batch<'_> {
    fn tensor(&self, i: u32) -> Result<Tensor<'_>, Error> {
        let mut raw: sys::Tensor = unsafe { mem::zeroed() };
        raw.struct_size = mem::size_of::<sys::Tensor>() as u32;
        match unsafe { sys::spdl_batch_tensor(self.reader.0, &self.raw, i, &mut raw) } {
            sys::OK => Ok(Tensor {
                raw,
                rows: self.raw.rows as usize,
                batch: marker::PhantomData,
            }),
            _ => Err(Error::last()),
        }
    }

    fn named(&self, name: &str) -> Result<Option<Tensor<'_>>, Error> {
        let name = CString::new(name).expect("no zero byte");
        match unsafe { sys::spdl_tensor_index(self.reader.0, name.as_ptr()) } {
            i if i < 0 => Ok(None),
            i => self.tensor(i as u32).map(Some),
        }
    }

    fn hash(&self) -> Result<u32, Error> {
        let mut hash = crc32(0, &self.raw.rows.to_le_bytes());
        for i in 0..unsafe { sys::spdl_n_tensors(self.reader.0) } {
            let t = self.tensor(i)?;
            hash = crc32(hash, t.values::<u8>());
            if !t.raw.offsets.is_null() {
                hash = crc32(hash, unsafe {
                    slice::from_raw_parts(t.raw.offsets.cast(), 8 * (t.rows + 1))
                });
            }
        }
        Ok(hash)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        unsafe { sys::spdl_release(self.reader.0, &self.raw) };
    }
}

/// What a tensor's memory may be read as: types that have a value for all bits.
trait Number: Copy {}
impl Number for u8 {}
impl Number for f32 {}
impl Number for i64 {}

/// A view of a batch's memory; it cannot outlive the batch.
struct Tensor<'b> {
    raw: sys::Tensor,
    rows: usize,
    batch: marker::PhantomData<&'b ()>,
}

impl Tensor<'_> {
    fn is(&self, code: u8, bits: u8) -> bool {
        (self.raw.dtype_code, self.raw.dtype_bits) == (code, bits)
    }

    /// How many there are. Where rows are padded there is more memory: what lies around them is zero.
    fn elements(&self) -> usize {
        self.raw.shape[..self.raw.ndim as usize].iter().map(|n| *n as usize).product()
    }

    /// All of them, one after the other; T is a number type that `is` has answered for, or u8.
    fn values<T: Number>(&self) -> &[T] {
        match self.raw.bytes as usize / mem::size_of::<T>() {
            0 => &[],
            n => unsafe { slice::from_raw_parts(self.raw.data as *const T, n) },
        }
    }
}

/// The CRC-32 of zlib, going on from crc.
fn crc32(crc: u32, data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let (mut table, mut i) = ([0; 256], 0);
        while i < 256 {
            let (mut c, mut k) = (i as u32, 0);
            while k < 8 {
                c = if c & 1 == 1 { 0xedb88320 ^ c >> 1 } else { c >> 1 };
                k += 1;
            }
            table[i] = c;
            i += 1;
        }
        table
    };
    !data
        .iter()
        .fold(!crc, |c, b| TABLE[((c ^ u32::from(*b)) & 255) as usize] ^ c >> 8)
}

#[derive(Default)]
struct Totals {
    batches: u64,
    rows: u64,
    sum: f64, // of image elements
    elements: usize,
    labels: BTreeSet<i64>,
}

impl Totals {
    fn train(&mut self, batch: &Batch) -> Result<(), Error> {
        if let Some(image) = batch.named("image")? {
            let (sum, n) = if image.is(sys::UINT, 8) {
                let all = image.values::<u8>();
                (all.iter().map(|v| u64::from(*v)).sum::<u64>() as f64, image.elements())
            } else if image.is(sys::FLOAT, 32) {
                let all = image.values::<f32>();
                (all.iter().map(|v| f64::from(*v)).sum(), image.elements())
            } else {
                (0.0, 0) // half and bfloat16 need a conversion that the standard library does not have
            };
            self.sum += sum;
            self.elements += n;
        }
        if let Some(label) = batch.named("label")?.filter(|t| t.is(sys::INT, 64) && t.raw.ndim == 1) {
            self.labels.extend(label.values::<i64>().iter().filter(|l| **l != -1));
            // -1: the sample has none
        }
        self.batches += 1;
        self.rows += u64::from(batch.raw.rows);
        Ok(())
    }
}

fn counted(n: u64, one: &str, more: &str) -> String {
    format!("{} {}", n, if n == 1 { one } else { more })
}

fn run(what: &str, group: Option<&str>, hash: bool) -> Result<(), Error> {
    let mut reader = Reader::new(what, group)?;
    let (mut all, start) = (Totals::default(), Instant::now());
    while let Some(batch) = reader.next()? {
        if hash {
            println!("{} {:08x}", batch.raw.ticket, batch.hash()?);
        }
        all.train(&batch)?;
    }
    println!(
        "{}, {}, {:.1} batches/s; mean of image {:.4}; {}",
        counted(all.batches, "batch", "batches"),
        counted(all.rows, "row", "rows"),
        all.batches as f64 / start.elapsed().as_secs_f64(),
        if all.elements > 0 {
            all.sum / all.elements as f64
        } else {
            0.0
        },
        counted(all.labels.len() as u64, "label", "labels")
    );
    Ok(())
}

fn main() {
    let (flags, words): (Vec<String>, Vec<String>) = env::args().skip(1).partition(|a| a.starts_with('-'));
    if words.is_empty() || words.len() > 2 || flags.iter().any(|f| f != "--hash") {
        eprintln!("usage: train SPEC_OR_NAME [GROUP] [--hash]");
        process::exit(2);
    }
    if let Err(e) = run(&words[0], words.get(1).map(String::as_str), !flags.is_empty()) {
        eprintln!("train: {}", e);
        process::exit(1);
    }
}
