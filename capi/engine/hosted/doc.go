// Package hosted runs pipelines whose stages a host program works on with threads of its own: C, C++, Python. It is
// core/pipeline with opaque 64-bit items, built from a description in JSON.
//
//	p, err := hosted.New(`{"name": "demo", "stages": [{"name": "in", "kind": "source"}, ...]}`)
//	err = p.Start()
//	w, err := p.Take(stage, timeout)  // on any thread
//	err = p.Give(stage, w.Token, hosted.Given{...})
//
// [Description] is what may be written; docs of it are in include/spdl.h, whose calls map one to one onto the methods of
// [Pipeline]. Nothing here calls the host, and nothing here is C: capi/engine converts.
//
// An item has one owner. What is given belongs to the pipeline until it is taken or got; what the pipeline drops is kept
// for [Pipeline.Reclaim].
package hosted
