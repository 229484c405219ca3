//! The results of fio, as `--output-format=json` or `json+` writes them.
//!
//! A job is used if it keeps a number of random reads, or of random writes, of one size
//! outstanding. Every other job is skipped with a note that says why.

use std::io::Read;

use drive::fit::{Job, Load, Measured};
use serde_json::Value;

use crate::failure::{Failure, Result};

/// The jobs of a file that can be used.
#[derive(Debug, Default)]
pub struct FioFile {
    /// The jobs, in the order of the file.
    pub jobs: Vec<FioJob>,
    /// Sentences about everything that is not as it should be.
    pub notes: Vec<String>,
}

/// A job.
#[derive(Debug)]
pub struct FioJob {
    /// Its name.
    pub name: String,
    /// Its load and its results.
    pub job: Job,
    /// Jobs of the same group run at the same time.
    group: Option<u64>,
}

/// Why a job cannot be used, as the end of a sentence.
type Reason = String;

/// Limits of what is simulated.
const DEPTH_MAX: u64 = 4096;
const BYTES_MAX: u64 = 1 << 20;

/// Reads a file; `-` is standard input.
///
/// # Errors
/// It cannot be read, is no result of fio, or none of its jobs can be used.
pub fn read(name: &str) -> Result<FioFile> {
    let mut bytes = Vec::new();
    let done = match name {
        "-" => std::io::stdin().read_to_end(&mut bytes).map(drop),
        path => std::fs::read(path).map(|content| bytes = content),
    };
    done.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    parse(&String::from_utf8_lossy(&bytes))
        .map_err(|why| Failure::usage(format!("{name} cannot be used: {why}")))
}

fn parse(text: &str) -> core::result::Result<FioFile, String> {
    let mut file = FioFile::default();
    let document = document(text, &mut file.notes)?;
    let jobs = document["jobs"].as_array().filter(|jobs| !jobs.is_empty());
    let jobs = jobs.ok_or("it has no list `jobs` with results; is it the output of fio?")?;
    for (index, job) in jobs.iter().enumerate() {
        let name = job["jobname"].as_str().map_or(format!("job {}", index + 1), str::to_owned);
        let result = JobResult { options: [&job["job options"], &document["global options"]], job };
        match result.read(&mut file.notes, &name) {
            Ok(job) => file.jobs.push(job),
            Err(reason) => file.notes.push(format!("job `{name}` is left out: {reason}")),
        }
    }
    if file.jobs.is_empty() {
        let notes = file.notes.join("\n");
        return Err(format!("it has no job of random reads or writes\n{notes}"));
    }
    one_at_a_time(&file.jobs)?;
    Ok(file)
}

/// The last complete JSON document; with `--status-interval` fio writes several.
fn document(text: &str, notes: &mut Vec<String>) -> core::result::Result<Value, String> {
    const REMEDY: &str = "run fio with `--output-format=json --output=FILE`";
    let mut at = 0;
    let mut lines = text.split_inclusive('\n');
    let start = lines.find_map(|line| {
        let begin = at;
        at += line.len();
        line.trim_start().starts_with('{').then_some(begin)
    });
    let start = start.ok_or(format!("it is not JSON; {REMEDY}"))?;
    let before = text[..start].lines().filter(|line| !line.trim().is_empty()).count();
    if before > 0 {
        notes.push(format!("lines before the JSON are ignored: {before}"));
    }
    let (mut last, mut count) = (None, 0);
    for document in serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>() {
        match document {
            Ok(document) => {
                last = Some(document);
                count += 1;
            }
            Err(error) if last.is_none() => {
                return Err(format!("its JSON is not complete: {error}; {REMEDY}"));
            }
            Err(_) => {
                notes.push("text after the JSON is ignored".into());
                break;
            }
        }
    }
    if count > 1 {
        notes.push(format!("of {count} results in the file, the last one is used"));
    }
    last.ok_or(format!("it is not JSON; {REMEDY}"))
}

/// Jobs that ran at the same time say nothing about one depth.
fn one_at_a_time(jobs: &[FioJob]) -> core::result::Result<(), String> {
    for (index, job) in jobs.iter().enumerate() {
        let same = |other: &&FioJob| other.group.is_some() && other.group == job.group;
        if let Some(other) = jobs[..index].iter().find(same) {
            return Err(format!(
                "jobs `{}` and `{}` ran at the same time; give each job `stonewall`, or \
                 `numjobs` with `group_reporting`",
                other.name, job.name
            ));
        }
    }
    Ok(())
}

/// A job in the file, and its options: its own and those of all jobs.
struct JobResult<'a> {
    job: &'a Value,
    options: [&'a Value; 2],
}

impl JobResult<'_> {
    fn read(&self, notes: &mut Vec<String>, name: &str) -> core::result::Result<FioJob, Reason> {
        let writes = self.direction()?;
        let results = &self.job[if writes { "write" } else { "read" }];
        let mut measured = measured(results)?;
        let mut depth = self.depth()?;
        if measured.mean_ns == 0.0 {
            measured.mean_ns = depth as f64 / measured.iops * 1e9;
            notes.push(format!("job `{name}` has no mean latency; it follows from its IOPS"));
        }
        if measured.p99_ns.is_none() {
            notes.push(format!("job `{name}` has no percentiles; its IOPS alone are used"));
        }
        let outstanding = measured.iops * measured.mean_ns / 1e9;
        if !(0.7..=1.3).contains(&(outstanding / depth as f64)) {
            let found = outstanding.round().clamp(1.0, DEPTH_MAX as f64);
            notes.push(format!(
                "job `{name}` says depth {depth}, but IOPS × mean latency are {outstanding:.1} \
                 requests, so depth {found} is taken; an asynchronous `ioengine` such as io_uring \
                 reaches the depth"
            ));
            depth = found as u64;
        }
        let load = Load { writes, depth: depth as u32, bytes: self.bytes(results, writes)? };
        let job = Job { load, measured };
        Ok(FioJob { name: name.to_owned(), job, group: self.job["groupid"].as_u64() })
    }

    /// The text of an option, of the job itself or of all jobs.
    fn option(&self, keys: &[&str]) -> Option<String> {
        let value = self.options.iter().find_map(|all| keys.iter().find_map(|key| all.get(key)))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// Whether the job writes.
    fn direction(&self) -> core::result::Result<bool, Reason> {
        let pattern = self.option(&["rw", "readwrite"]);
        if let Some(pattern) = &pattern
            && !["randread", "randwrite"].contains(&pattern.split(':').next().unwrap_or_default())
        {
            return Err(format!("`rw={pattern}` is neither randread nor randwrite"));
        }
        if let Some(limit) = ["rate", "rate_iops", "thinktime"].iter().find(|key| {
            self.option(&[key]).is_some_and(|value| !value.trim_matches(['0', ',']).is_empty())
        }) {
            return Err(format!("`{limit}` holds it back; measure without it"));
        }
        match ["read", "write"].map(|way| requests(&self.job[way]) > 0.0) {
            [true, false] => Ok(false),
            [false, true] => Ok(true),
            [true, true] => Err("it mixes reads and writes".into()),
            [false, false] => Err("it has neither reads nor writes".into()),
        }
    }

    /// The requests that it keeps outstanding.
    fn depth(&self) -> core::result::Result<u64, Reason> {
        let number = |key: &str| match self.option(&[key]) {
            None => Ok(1),
            Some(text) => match text.trim().parse::<u64>() {
                Ok(number @ 1..=DEPTH_MAX) => Ok(number),
                _ => Err(format!("`{key}={text}` is not a number from 1 to {DEPTH_MAX}")),
            },
        };
        let jobs = match self.option(&["group_reporting"]) {
            Some(_) => number("numjobs")?,
            None => 1,
        };
        match number("iodepth")? * jobs {
            depth @ 1..=DEPTH_MAX => Ok(depth),
            depth => Err(format!("its depth of {depth} is above {DEPTH_MAX}")),
        }
    }

    /// The size of a request.
    fn bytes(&self, results: &Value, writes: bool) -> core::result::Result<u64, Reason> {
        if let Some(sizes) = self.option(&["bssplit", "bsrange", "blocksize_range"]) {
            return Err(format!("its requests have several sizes: {sizes}"));
        }
        let bytes = match self.option(&["bs", "blocksize"]) {
            Some(text) => {
                let mut sizes = text.split(',');
                let first = sizes.next().unwrap_or_default();
                let own = if writes { sizes.next().unwrap_or(first) } else { first };
                size(own).ok_or(format!("`bs={text}` is not a size such as 4k"))?
            }
            // The size is not among the options if it is fio's default.
            None => match (positive(&results["io_bytes"]), requests(results)) {
                (Some(bytes), requests) if requests > 0.0 => (bytes / requests).round() as u64,
                _ => 4096,
            },
        };
        match (512..=BYTES_MAX).contains(&bytes) && bytes.is_multiple_of(512) {
            true => Ok(bytes),
            false => Err(format!("requests of {bytes} B are no multiple of 512 B up to 1 MiB")),
        }
    }
}

fn requests(results: &Value) -> f64 {
    positive(&results["total_ios"]).or(positive(&results["iops"])).unwrap_or(0.0)
}

fn positive(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite() && *number > 0.0)
}

/// IOPS and latencies of reads or of writes. A mean of 0 is unknown.
fn measured(results: &Value) -> core::result::Result<Measured, Reason> {
    let from_runtime = || Some(requests(results) / positive(&results["runtime"])? * 1e3);
    let iops = positive(&results["iops"]).or_else(from_runtime);
    let iops = iops.ok_or("it has no `iops`")?;
    // Total latency before completion latency; until fio 2 they are in microseconds.
    let kinds = [("lat_ns", 1.0), ("lat", 1e3), ("clat_ns", 1.0), ("clat", 1e3)];
    let known = |of: fn(&Value) -> Option<f64>| {
        kinds.iter().find_map(|(kind, unit_ns)| Some(of(&results[*kind])? * unit_ns))
    };
    let mean_ns = known(|latency| positive(&latency["mean"])).unwrap_or(0.0);
    Ok(Measured { iops, mean_ns, p99_ns: known(p99) })
}

/// The 99th percentile, whose key has several decimals.
fn p99(latency: &Value) -> Option<f64> {
    let percentiles = latency["percentile"].as_object()?;
    let is_p99 = |key: &str| key.parse::<f64>().is_ok_and(|share| share == 99.0);
    positive(percentiles.iter().find(|(key, _)| is_p99(key))?.1)
}

/// A size as fio writes it: `4k`, `4KiB`, `4096`; all prefixes are binary.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match &text[digits..] {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(more: &str) -> String {
        format!(
            r#"{{"jobs": [{{"jobname": "a", "groupid": 0, {more}
            "read": {{"iops": 1000.0, "total_ios": 10, "io_bytes": 81920,
                "lat_ns": {{"mean": 1e6}},
                "clat_ns": {{"percentile": {{"95.000000": 5, "99.000000": 2000000}}}}}},
            "write": {{"iops": 0, "total_ios": 0}}}}]}}"#
        )
    }

    fn only(text: &str) -> Job {
        parse(text).unwrap().jobs[0].job
    }

    #[test]
    fn a_job_has_its_options_or_those_of_all_jobs_or_the_defaults_of_fio() {
        let plain = only(&job(""));
        assert_eq!(plain.load, Load { writes: false, depth: 1, bytes: 8192 });
        let measured = Measured { iops: 1000.0, mean_ns: 1e6, p99_ns: Some(2e6) };
        assert_eq!(plain.measured, measured);
        let own = job(r#""job options": {"rw": "randread", "bs": "4k,8k", "iodepth": "1"},"#);
        assert_eq!(only(&own).load.bytes, 4096);
        let global = own.replacen('{', r#"{"global options": {"iodepth": "64", "bs": "1m"},"#, 1);
        assert_eq!(only(&global).load, Load { writes: false, depth: 1, bytes: 4096 });
    }

    #[test]
    fn lines_around_the_json_are_ignored_with_a_note() {
        let file = parse(&format!("fio: a {{note}}\n\n{}\nDisk stats\n", job(""))).unwrap();
        assert_eq!(file.jobs.len(), 1);
        assert_eq!(
            file.notes,
            ["lines before the JSON are ignored: 1", "text after the JSON is ignored"]
        );
        let twice = parse(&format!("{}\n{}", job(""), job(""))).unwrap();
        assert_eq!(twice.notes, ["of 2 results in the file, the last one is used"]);
    }

    #[test]
    fn fio_2_has_microseconds() {
        let old = job("").replace("_ns", "").replace("1e6", "1000").replace("2000000", "2000");
        assert_eq!(only(&old).measured, only(&job("")).measured);
    }

    #[test]
    fn a_depth_that_was_not_reached_is_corrected() {
        let file = parse(&job(r#""job options": {"iodepth": "32"},"#)).unwrap();
        assert_eq!(file.jobs[0].job.load.depth, 1);
        assert!(file.notes[0].contains("so depth 1 is taken"), "{}", file.notes[0]);
        let many = job(r#""job options": {"numjobs": "4", "group_reporting": ""},"#);
        assert_eq!(only(&many.replace("1e6", "4e6")).load.depth, 4);
    }

    #[test]
    fn what_cannot_be_used_is_said_with_the_reason() {
        let with = |option: &str| job(&format!(r#""job options": {{{option}}},"#));
        for (text, why) in [
            (String::new(), "it is not JSON"),
            ("fio: no such file".into(), "it is not JSON"),
            ("{\"jobs\": [".into(), "its JSON is not complete"),
            ("{}".into(), "no list `jobs`"),
            ("{\"jobs\": []}".into(), "no list `jobs`"),
            ("{\"jobs\": 3}".into(), "no list `jobs`"),
            ("{\"jobs\": [null]}".into(), "job `job 1` is left out: it has neither"),
            (with(r#""rw": "read""#), "`rw=read` is neither randread nor randwrite"),
            (with(r#""rate_iops": "100""#), "`rate_iops` holds it back"),
            (with(r#""bs": "4x""#), "`bs=4x` is not a size"),
            (with(r#""bs": "100""#), "requests of 100 B are no multiple"),
            (with(r#""bs": "99999999999999999999k""#), "is not a size"),
            (with(r#""bssplit": "4k/50:8k/50""#), "several sizes"),
            (with(r#""iodepth": "0""#), "not a number from 1 to 4096"),
            (with(r#""iodepth": "4096", "numjobs": "9", "group_reporting": """#), "36864 is above"),
            (job("").replace("\"iops\": 0, \"total_ios\": 0", "\"iops\": 1"), "mixes reads"),
            (job("").replace("1000.0", "-1"), "it has no `iops`"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let together = job("")
            .replace("}]}", "}, {\"jobname\": \"b\", \"groupid\": 0, \"read\": {\"iops\": 1}}]}");
        assert!(parse(&together).unwrap_err().contains("`a` and `b` ran at the same time"));
    }

    #[test]
    fn a_job_without_latencies_is_used_for_its_iops() {
        let bare = job("").replace("lat_ns", "other").replace("clat_ns", "other");
        let file = parse(&bare).unwrap();
        assert_eq!(file.jobs[0].job.measured, Measured { iops: 1e3, mean_ns: 1e6, p99_ns: None });
        assert_eq!(file.notes.len(), 2);
    }
}
