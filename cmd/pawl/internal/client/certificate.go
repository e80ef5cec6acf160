package client

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"github.com/pawl-run/pawl/cmd/pawl/internal/datadir"
)

// Pinned are the options to reach the listener whose files are in the directory. Over TLS its certificate must be the
// one in these files.
func Pinned(dir string) ([]nats.Option, error) {
	text, err := os.ReadFile(filepath.Join(dir, datadir.NATSCertificate))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is no certificate", datadir.NATSCertificate)
	}
	return []nats.Option{nats.Secure(&tls.Config{
		MinVersion: tls.VersionTLS12,
		// The check of names and issuers is replaced by a stricter one.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("the listener has another certificate than the engine wrote down")
			}
			return nil
		},
	})}, nil
}
