//! What the server counts of itself, in the text format of Prometheus.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use contexture_core::EngineUsage;

/// The upper bounds of the buckets that times of requests fall into, in microseconds.
const BUCKETS: [u64; 9] =
    [300, 1_000, 2_000, 5_000, 20_000, 50_000, 200_000, 1_000_000, 10_000_000];

/// What the server counts of itself. Routes are counted by their templates, so names of sessions and pages
/// are in no figure.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: Mutex<BTreeMap<(String, String, u16), Times>>,
    /// Requests that are being answered.
    in_flight: AtomicI64,
    /// Connections that are open.
    connections: AtomicI64,
    /// Event streams that are open.
    streams: AtomicI64,
    /// Event streams that were ended because their reader was too slow.
    streams_dropped: AtomicU64,
}

/// How long requests took.
#[derive(Debug, Default, Clone, Copy)]
struct Times {
    count: u64,
    micros: u64,
    buckets: [u64; BUCKETS.len()],
}

/// Counts something for as long as it is held.
#[derive(Debug)]
pub(crate) struct Counted<'a>(&'a AtomicI64);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counters {
    /// Counts a request as being answered.
    pub(crate) fn request(&self) -> Counted<'_> {
        counted(&self.in_flight)
    }

    /// Counts a connection as open.
    pub(crate) fn connection(&self) -> Counted<'_> {
        counted(&self.connections)
    }

    /// Counts an event stream as open.
    pub(crate) fn stream(&self) -> Counted<'_> {
        counted(&self.streams)
    }

    /// Counts an event stream whose reader was too slow.
    pub(crate) fn stream_dropped(&self) {
        self.streams_dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (method.to_owned(), route.to_owned(), status);
        let times = requests.entry(key).or_default();
        times.count += 1;
        times.micros = times.micros.saturating_add(micros);
        for (bucket, bound) in times.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(micros <= bound);
        }
    }

    /// Writes everything down.
    pub(crate) fn text(&self, engine: EngineUsage) -> String {
        let mut text = String::new();
        let load = |gauge: &AtomicI64| gauge.load(Ordering::Relaxed);
        let gauges = [
            ("contexture_requests_in_flight", "Requests being answered.", load(&self.in_flight)),
            ("contexture_connections", "Open connections.", load(&self.connections)),
            ("contexture_event_streams", "Open event streams.", load(&self.streams)),
            ("contexture_sessions_open", "Sessions in memory.", whole(engine.sessions)),
            ("contexture_memory_bytes", "Bytes that sessions hold in memory.", whole(engine.bytes)),
        ];
        for (name, help, value) in gauges {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        let name = "contexture_event_streams_dropped_total";
        let dropped = self.streams_dropped.load(Ordering::Relaxed);
        let _ =
            writeln!(text, "# HELP {name} Event streams ended because their reader was too slow.");
        let _ = writeln!(text, "# TYPE {name} counter\n{name} {dropped}");
        self.write_requests(&mut text);
        text
    }

    fn write_requests(&self, text: &mut String) {
        let name = "contexture_request_seconds";
        let _ = writeln!(text, "# HELP {name} How long requests took.\n# TYPE {name} histogram");
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        for ((method, route, status), times) in &*requests {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            for (bound, count) in BUCKETS.iter().zip(times.buckets) {
                let _ =
                    writeln!(text, "{name}_bucket{{{labels},le=\"{}\"}} {count}", seconds(*bound));
            }
            let (count, sum) = (times.count, seconds(times.micros));
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(text, "{name}_sum{{{labels}}} {sum}");
            let _ = writeln!(text, "{name}_count{{{labels}}} {count}");
        }
    }
}

fn counted(gauge: &AtomicI64) -> Counted<'_> {
    gauge.fetch_add(1, Ordering::Relaxed);
    Counted(gauge)
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn seconds(micros: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "a figure for a chart")]
    let micros = micros as f64;
    micros / 1_000_000.0
}
