package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
)

// AuditTree is what proofs and tiles are made of: [audit.Log] again.
type AuditTree interface {
	audit.Tree

	// Checkpoint returns the newest checkpoint. It covers every record that was
	// acknowledged before the call.
	Checkpoint() audit.Checkpoint
}

// A WitnessState is how the audit log stands with the witness that cosigns its
// checkpoints.
type WitnessState struct {
	Size uint64    // records that the witness has cosigned
	At   time.Time // when it did; zero: never
	Err  error     // of the last try; nil: it was cosigned
}

// GET /api/audit/checkpoint, and for transparency-log tools
// GET /audit/<profile>/checkpoint
func (s *Server) showCheckpoint(c echo.Context) error {
	if err := s.ownLog(c); err != nil {
		return err
	}
	h := c.Response().Header()
	if w := s.cfg.Witness; w != nil {
		state := w()
		h.Set("Datamind-Witness-Size", strconv.FormatUint(state.Size, 10))
		if !state.At.IsZero() {
			h.Set("Datamind-Witness-Age", strconv.FormatInt(int64(time.Since(state.At).Seconds()), 10))
		}
	}
	return c.Blob(http.StatusOK, echo.MIMETextPlainCharsetUTF8, s.cfg.Tree.Checkpoint().Note)
}

// ownLog refuses the name of another profile in a path.
func (s *Server) ownLog(c echo.Context) error {
	if p := c.Param("profile"); p != "" && p != s.cfg.Profile {
		return agent.Errorf(agent.CodeNotFound, "there is no audit log of this name")
	}
	return nil
}

// GET /api/audit/:seq/proof answers with a file that proves, without us, that
// the record is in the log.
func (s *Server) proveRecord(c echo.Context) error {
	seq, err := strconv.ParseUint(c.Param("seq"), 10, 63)
	if err != nil {
		return agent.Errorf(agent.CodeNotFound, "there is no record of this number")
	}
	proof, err := audit.Prove(c.Request().Context(), s.cfg.Tree, s.cfg.Tree.Checkpoint(), seq)
	if errors.Is(err, audit.ErrProof) {
		return agent.Wrap(codeTampered, err, "the audit log on disk is not what was sealed; verify the log")
	}
	if err != nil {
		return err
	}
	text, err := proof.MarshalText()
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="audit-%d.tlog-proof"`, seq))
	return c.Blob(http.StatusOK, echo.MIMETextPlainCharsetUTF8, text)
}

// A consistency is the public JSON of a proof that the log has only grown.
type consistency struct {
	From       uint64   `json:"from"`
	To         uint64   `json:"to"`
	Hashes     []string `json:"hashes"`               // base64, as RFC 6962 orders them
	Checkpoint string   `json:"checkpoint,omitempty"` // signed note, where it is of size To
}

// GET /api/audit/consistency?from=SIZE&to=SIZE; to is the size of the newest
// checkpoint, if it is left out.
func (s *Server) proveConsistency(c echo.Context) error {
	head := s.cfg.Tree.Checkpoint()
	q := queryOf(c, "from", "to")
	from, to := q.number("from", 1), q.number("to", 1)
	if err := q.err(); err != nil {
		return err
	}
	if to == 0 {
		to = head.Size
	}
	switch {
	case from == 0:
		return agent.Errorf(agent.CodeInvalid, "from: want the size of a checkpoint, from 1 on")
	case to > head.Size:
		return agent.Errorf(agent.CodeInvalid, "to: the log has %d records", head.Size)
	case from > to:
		return agent.Errorf(agent.CodeInvalid, "from: want a size of at most %d", to)
	}
	proof, err := audit.ProveConsistency(s.cfg.Tree, from, to)
	if err != nil {
		return err
	}
	out := consistency{From: from, To: to, Hashes: []string{}}
	for _, h := range proof {
		out.Hashes = append(out.Hashes, h.String())
	}
	if to == head.Size {
		out.Checkpoint = string(head.Note)
	}
	return c.JSON(http.StatusOK, out)
}

// GET /audit/<profile>/tile/…, C2SP tlog-tiles. What a path names never
// changes. It is for the eyes of who may read the log, so that no shared cache
// keeps it.
func (s *Server) showTile(c echo.Context) error {
	if err := s.ownLog(c); err != nil {
		return err
	}
	data, err := audit.ReadTile(c.Request().Context(), s.cfg.Tree, s.cfg.Tree.Checkpoint().Size, c.Param("*"))
	if errors.Is(err, audit.ErrNoTile) {
		return agent.Errorf(agent.CodeNotFound, "the audit log has no such tile")
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "private, max-age=31536000, immutable")
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, data)
}
