// Package audit keeps a log of what an agent did and of what people decided.
//
// A log is a file of JSON lines, audit.jsonl. Each line is a [Record], holds
// the hash of the line before it, and ends in its own:
//
//	{"actor":"agent",…,"prev_hash":"9e1c…",…,"seq":7,…,"v":2,"record_hash":"41d0…"}
//
// The hash is SHA-256 over the line as it stands in the file, without the
// record_hash member, so that it can be checked with sed and sha256sum. Record
// 0 names the log and its public key. Nothing is hashed before a [Redactor]
// has seen it.
//
// [Open] checks what there is and appends; [VerifyFile] and [VerifyDir] only
// read, also beside a running server. A chain of hashes shows every change in
// the middle of a log. It can't show that the end was cut off, or that
// everything behind some record was written anew.
package audit
