// Package witness is both ends of C2SP tlog-witness. A [Witness] remembers, on
// a machine of its own, the newest checkpoint that it has seen of each log,
// and cosigns another one only where a proof shows that the log has merely
// grown. A [Feeder] sends it a log's checkpoints and keeps what comes back.
//
// Whoever owns a log's disk and its key can rewrite the log and sign it anew;
// what a witness has cosigned says then that it was another one.
package witness
