// Package pack writes the samples of a source into tar archives as WebDataset has them, so that they are read in long
// stretches and few files: what trains from a million small files, a table or an object store trains from shards then.
//
//	report, err := pack.Write(ctx, pack.Config{
//		Source: src, Samples: order, Parts: []pack.Part{{}}, Out: "/data/train-%06d.tar", MaxBytes: 256 << 20,
//	})
//
// A sample becomes the neighbouring members of one key, its number in nine digits: each part with its bytes as they are,
// the label as cls, the columns as txt and npy. Where the source has class names the key begins with the class' directory,
// which [source.OpenShards] takes labels from. Pictures may be made smaller on the way ([Smaller]). Equal samples in equal
// order give equal archives, byte for byte, whatever the number of workers.
//
// An archive appears at its name when it is whole (package whole, or an upload in parts to an S3 store); what is there already is never written
// over. Nothing is kept in memory but the samples in work.
//
// Not covered: stores that do not speak S3, zip, compression.
package pack
