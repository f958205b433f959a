//go:build race

package main

// raceEnabled says that the race detector is in, which needs memory of its own.
const raceEnabled = true
