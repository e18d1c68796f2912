// Package store reads byte ranges of objects over HTTP(S), of the Hugging Face Hub, of Google Cloud Storage, and from S3 and what speaks its language, and writes objects to the last.
//
//	c, err := store.New(store.Options{Endpoint: "http://127.0.0.1:9000"})
//	o, err := c.Stat(ctx, "s3://bucket/train-0000.tar")
//	err = c.ReadAt(ctx, o, p, 512) // all of p, of exactly the version that Stat saw
//
// # What a read does
//
// Every call has one deadline, [Options.Timeout], with everything in it: connecting, retries, waiting between them. An attempt gets a
// third of it. What may pass by itself (a reset, a short body, 408, 429, 5xx, silence) is tried again after a back-off with jitter, or
// after what Retry-After says; what will not (403, 404, a changed object) is not. A read that takes longer than nearly all before it is
// asked for a second time ([Options.HedgeAfter]), the first answer counts, and at most one read in ten is doubled.
//
// A read is of one version of an object: it sends If-Match with the ETag where that is a strong one and compares the ETag, the date
// and the length of every answer, as far as it says them. Another version is the cause [Changed], never half of one and half of the other. Checksums that S3 holds of
// whole objects are compared when a whole object is read.
//
// Credentials are found once. Where they are refused they are looked for again: a profile's file may have others by then.
//
// Only http, https, s3, gs (Google Cloud Storage) and hf (the Hugging Face Hub) are spoken. Redirects lead at most 5 times on, never from https to http, and never for a signed request; a
// token goes to the Hub, or to Google's store, alone.
//
// An [Upload] writes an object in parts: it is there whole when Finish has returned, and not before. A Client is used by any number of goroutines; Close comes after the last call.
package store
