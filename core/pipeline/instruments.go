//go:build !uninstrumented

package pipeline

// instrumented says that ops and waits are timed and counted. With the build tag uninstrumented they are not, Stats
// shows zeros and nothing can be tuned: bench/insight.py counts the instructions of both builds.
const instrumented = true
