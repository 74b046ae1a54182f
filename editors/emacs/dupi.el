;;; dupi.el --- Where the copies of this code are  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "29.1"))

;;; Commentary:

;; `dupi-lsp' is a language server that finds duplicated code.
;; (require 'dupi) makes it known to lsp-mode and to eglot.
;;
;; lsp-mode starts it beside the server of the language, for each buffer in which `lsp' is started.
;;
;; eglot has one server for a buffer: in modes that have no other, let it be this one:
;;
;;   (add-to-list 'eglot-server-programs '((sh-mode lua-mode) . (dupi-server "dupi-lsp")))
;;
;; Elsewhere C-u M-x eglot asks for a program: dupi-lsp.
;;
;; Code actions go to a copy, compare with it (ediff), show all (xref) or ignore it.

;;; Code:

(require 'ediff)
(require 'seq)
(require 'xref)

(defvar dupi-command '("dupi-lsp")
  "The language server: a program and its arguments.")

(defconst dupi-languages
  '("c" "cpp" "csharp" "go" "java" "javascript" "javascriptreact" "kotlin" "lua" "php" "python" "ruby" "rust" "scala"
    "shellscript" "swift" "typescript" "typescriptreact")
  "The languages that the server knows, by the names that the protocol has for them.")

(defun dupi--place (get location)
  "File, first and last line of LOCATION, the keys of which GET reads."
  (let* ((range (funcall get location :range))
         (line (lambda (end) (1+ (funcall get (funcall get range end) :line))))
         (whole (zerop (funcall get (funcall get range :end) :character))))
    (list (url-unhex-string (url-filename (url-generic-parse-url (funcall get location :uri))))
          (funcall line :start)
          (- (funcall line :end) (if whole 1 0)))))

(defun dupi--text (place)
  "The lines of PLACE, as they are being edited."
  (with-current-buffer (find-file-noselect (car place))
    (save-excursion
      (save-restriction
        (widen)
        (goto-char (point-min))
        (let ((start (line-beginning-position (nth 1 place))))
          (buffer-substring start (line-beginning-position (1+ (nth 2 place)))))))))

(defun dupi--fragment (place)
  "A buffer that holds the lines of PLACE, named after them."
  (let ((name (format "%s:%d-%d" (file-relative-name (car place)) (nth 1 place) (nth 2 place)))
        (mode (buffer-local-value 'major-mode (find-file-noselect (car place)))))
    (with-current-buffer (get-buffer-create name)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (dupi--text place))
        (delay-mode-hooks (funcall mode))
        (setq buffer-read-only t))
      (current-buffer))))

(defun dupi-compare (own other)
  "Show the fragments OWN and OTHER beside each other."
  (ediff-buffers (dupi--fragment own) (dupi--fragment other)))

(defun dupi-show (places)
  "List PLACES; go there, if it is one."
  (let ((xrefs (mapcar (lambda (place)
                         (xref-make (car (split-string (dupi--text place) "\n"))
                                    (xref-make-file-location (car place) (nth 1 place) 0)))
                       places)))
    (if (cdr xrefs)
        (xref-show-xrefs (lambda () xrefs) nil)
      (xref-push-marker-stack)
      (xref-pop-to-location (car xrefs)))))

(defun dupi--run (get command)
  "Do what the server asks an editor to do by COMMAND, the keys of which GET reads.
Nil if it is not for an editor."
  (let ((arguments (funcall get command :arguments))
        (place (lambda (location) (dupi--place get location))))
    (pcase (funcall get command :command)
      ("dupi.showCopies" (dupi-show (mapcar place (elt arguments 2))) t)
      ("dupi.compare" (apply #'dupi-compare (mapcar place arguments)) t))))

(with-eval-after-load 'eglot
  (defclass dupi-server (eglot-lsp-server) ())

  (cl-defmethod eglot-execute ((_server dupi-server) action)
    "What an ACTION asks an editor to do is done here."
    (let ((command (plist-get action :command)))
      (unless (dupi--run #'plist-get (if (stringp command) action command))
        (cl-call-next-method)))))

(declare-function lsp-register-client "lsp-mode")
(declare-function make-lsp-client "lsp-mode")
(declare-function lsp-stdio-connection "lsp-mode")
(declare-function lsp-activate-on "lsp-mode")
(declare-function lsp-get "lsp-protocol")

(with-eval-after-load 'lsp-mode
  (let ((handlers (make-hash-table :test #'equal))
        (silent (make-hash-table :test #'equal)))
    (dolist (name '("dupi.showCopies" "dupi.compare"))
      (puthash name (lambda (command) (dupi--run #'lsp-get command)) handlers))
    ;; Without this, each is a warning.
    (puthash "dupi/status" #'ignore silent)
    (lsp-register-client
     (make-lsp-client :server-id 'dupi
                      :new-connection (lsp-stdio-connection (lambda () dupi-command))
                      :activation-fn (apply #'lsp-activate-on dupi-languages)
                      :add-on? t
                      :action-handlers handlers
                      :notification-handlers silent))))

(provide 'dupi)
;;; dupi.el ends here
