package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
)

// PartBytes is what a part of an upload has, but for the last: the store takes 10,000 of them, and none but the last below 5 MiB.
const PartBytes = 16 << 20

const maxUploadParts = 10_000

// ErrExists is returned by Finish where there is an object of that name already.
var ErrExists = errors.New("there is an object of that name")

// Upload is an object that is written part by part. It is there when Finish has returned, whole; before that, and after Abandon, it is not. One
// goroutine at a time uses it.
type Upload struct {
	c     *Client
	name  string
	id    string
	parts []uploadPart
}

type uploadPart struct {
	PartNumber int
	ETag       string
}

// Create begins an object at an s3:// URL.
func (c *Client) Create(ctx context.Context, name string) (*Upload, error) {
	if scheme, _, key, ok := cutBucket(Plain(name)); !ok || len(key) < 2 || scheme != "s3" {
		return nil, &Error{URL: name, Cause: IO, Detail: "want s3://BUCKET/KEY to write an object"}
	}
	u := &Upload{c: c, name: Plain(name)}
	var answer struct{ UploadId string }
	err := u.ask(ctx, http.MethodPost, url.Values{"uploads": {""}}, nil, nil, &answer)
	if err == nil && answer.UploadId == "" {
		err = &Error{URL: name, Cause: IO, Detail: "the store began no upload; is the endpoint that of one?"}
	}
	if err != nil {
		return nil, err
	}
	u.id = answer.UploadId
	return u, nil
}

// Part writes the next bytes: PartBytes of them, or fewer of the last part. When it has returned they are the caller's again, who may write over them.
func (u *Upload) Part(ctx context.Context, data []byte) error {
	n := len(u.parts) + 1
	if n > maxUploadParts {
		return &Error{URL: u.name, Cause: TooLarge, Detail: fmt.Sprintf("got more than %d parts of %d bytes", maxUploadParts, PartBytes)}
	}
	var etag string
	err := u.ask(ctx, http.MethodPut, url.Values{"partNumber": {strconv.Itoa(n)}, "uploadId": {u.id}}, data, nil, &etag)
	if err == nil && etag == "" {
		err = &Error{URL: u.name, Cause: IO, Detail: fmt.Sprintf("the store took part %d without a word (ETag)", n)}
	}
	if err == nil {
		u.parts = append(u.parts, uploadPart{n, etag})
	}
	return err
}

// Finish makes the object of the parts, unless there is one of that name by now. Stores that do not know the condition replace it.
func (u *Upload) Finish(ctx context.Context) error {
	body, err := xml.Marshal(struct {
		XMLName xml.Name     `xml:"CompleteMultipartUpload"`
		Part    []uploadPart `xml:"Part"`
	}{Part: u.parts})
	if err != nil {
		return err
	}
	var answer struct {
		XMLName xml.Name
		Code    string
	}
	query := url.Values{"uploadId": {u.id}}
	err = u.ask(ctx, http.MethodPost, query, body, http.Header{"If-None-Match": {"*"}}, &answer)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusNotImplemented {
		err = u.ask(ctx, http.MethodPost, query, body, nil, &answer)
	}
	if errors.As(err, &e) && e.Status == http.StatusNotFound && e.Attempts > 1 { // an attempt before made it, and its answer was lost
		if _, there := u.c.Stat(ctx, u.name); there == nil {
			return nil
		}
	}
	switch {
	case errors.As(err, &e) && (e.Status == http.StatusPreconditionFailed || e.Status == http.StatusConflict):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case err == nil && answer.XMLName.Local != "CompleteMultipartUploadResult": // an error may come behind status 200
		err = &Error{URL: u.name, Cause: IO, Detail: fmt.Sprintf("the store did not make the object of its parts: got <%.40s> %.60s", answer.XMLName.Local, answer.Code)}
	}
	return err
}

// Abandon has the store forget the parts.
func (u *Upload) Abandon(ctx context.Context) error {
	return u.ask(ctx, http.MethodDelete, url.Values{"uploadId": {u.id}}, nil, nil, nil)
}

// maxAnswer is more than a store says of an upload.
const maxAnswer = 64 << 10

// ask sends a request with a body, and again while that may help. The answer is a document, or, where it is a text, the header ETag.
func (u *Upload) ask(ctx context.Context, method string, query url.Values, body []byte, header http.Header, answer any) error {
	sum := sha256.Sum256(body)
	return u.c.call(ctx, u.name, func(ctx context.Context, _ context.CancelFunc) error {
		r, by, err := u.c.request(ctx, method, u.name, query)
		if err != nil {
			return err
		}
		for k, v := range header {
			r.Header[k] = v
		}
		if body != nil {
			lent := &loan{}
			defer lent.end()
			r.ContentLength = int64(len(body))
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(&lentBytes{lent, bytes.NewReader(body)}), nil }
			r.Body, _ = r.GetBody()
		}
		r.Header.Set(contentSum, hex.EncodeToString(sum[:]))
		a, err := u.c.exchange(r, by)
		if err != nil {
			return err
		}
		defer discard(a.Body)
		if etag, ok := answer.(*string); ok {
			*etag = a.Header.Get("ETag")
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
		if err != nil {
			return &Error{Cause: IO, Err: err, again: true, Detail: "the answer broke off"}
		}
		if answer == nil {
			return nil
		}
		if err = xml.NewDecoder(bytes.NewReader(text)).Decode(answer); err != nil {
			return &Error{Cause: IO, Err: err, Detail: "the answer is no document; is the endpoint that of a store?"}
		}
		return nil
	})
}

// loan is an attempt's right to read a body. net/http may go on to write a body whose answer is there already, or whose context has ended, while the
// caller has the bytes back and writes the next part over them.
type loan struct {
	mu   sync.Mutex
	over bool
}

func (l *loan) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

var errLoanOver = errors.New("the attempt that this body is of has ended")

type lentBytes struct {
	loan *loan
	r    *bytes.Reader // no embedding: WriteTo would read past the loan
}

func (b *lentBytes) Read(p []byte) (int, error) {
	b.loan.mu.Lock()
	defer b.loan.mu.Unlock()
	if b.loan.over {
		return 0, errLoanOver
	}
	return b.r.Read(p)
}
