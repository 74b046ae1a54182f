;;; test.el --- dupi.el in a real Emacs  -*- lexical-binding: t -*-

;; emacs --batch -Q -l test.el CLIENT DUPI.EL PROJECT, where CLIENT is eglot or lsp-mode.
;; Every step waits for what must come, and for nothing else.

;;; Code:

(require 'cl-lib)
(require 'flymake)

(defconst patience 180 "A busy machine is slow; what takes longer never comes.")
(defvar passed 0)
(defvar failed 0)
(pcase-let ((`(,name ,plugin ,folder) command-line-args-left))
  (defconst client (intern name))
  (defconst project (file-name-as-directory folder))
  (setq command-line-args-left nil)
  (load plugin nil t))

;; As the package of that name, for what is tested here.
(define-derived-mode go-mode prog-mode "Go")
(add-to-list 'auto-mode-alist '("\\.go\\'" . go-mode))
(setq make-backup-files nil auto-save-default nil create-lockfiles nil revert-without-query '("dupi.toml"))

(defmacro check (name &rest body)
  (declare (indent 1))
  `(condition-case problem
       (progn ,@body (cl-incf passed) (princ (format "ok %s\n" ,name)))
     (error (cl-incf failed) (princ (format "not ok %s: %S\n" ,name problem)))))

(defmacro eventually (what seen is-so)
  "Wait until IS-SO holds of what SEEN, a form, gives."
  `(let ((end (+ (float-time) patience)) (seen nil))
     (while (not (progn (setq seen ,seen) (funcall ,is-so seen)))
       (when (> (float-time) end)
         (error "Timed out: %s; seen: %S" ,what seen))
       ;; Unlike waiting for a process alone, this hears of changes on disk, too.
       (read-event nil nil 0.02))))

(defun equal-to (expected)
  (lambda (seen) (equal seen expected)))

;; ---- what a client shows, and how it acts

(pcase client
  ('eglot
   (require 'eglot)
   (setq eglot-sync-connect 5 eglot-confirm-server-edits nil eglot-events-buffer-config '(:size 0))
   (add-to-list 'eglot-server-programs '(go-mode . (dupi-server "dupi-lsp")))
   ;; In a project that has a server, it starts by itself.
   (defun start () (unless (eglot-managed-p) (apply #'eglot (eglot--guess-contact))))
   (defun messages ()
     ;; As it does by itself when a buffer is seen.
     (unless (flymake-running-backends) (flymake-start))
     (mapcar (lambda (d) (string-remove-prefix "dupi [renamed]: " (flymake-diagnostic-text d)))
             (sort (flymake-diagnostics) (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b))))))
   (defun actions () (eglot-code-actions (point) (point)))
   (defun title (action) (plist-get action :title))
   (defun act (action) (eglot-execute (eglot-current-server) action))
   (defun hover ()
     (let (text)
       (eglot-hover-eldoc-function (lambda (seen &rest _) (setq text seen)))
       (eventually "a hover" text #'identity)
       text)))
  ('lsp-mode
   (setq lsp-auto-guess-root t lsp-enable-snippet nil lsp-warn-no-matched-clients nil lsp-lens-enable t
         lsp-session-file (expand-file-name "session" project) lsp-diagnostics-provider :flymake
         lsp-headerline-breadcrumb-enable nil lsp-modeline-code-actions-enable nil lsp-lens-debounce-interval 0.01
         lsp-completion-provider :none lsp-idle-delay 0.01 lsp-debounce-full-sync-notifications nil)
   (require 'lsp-mode)
   (require 'lsp-lens)
   (require 'lsp-modeline)
   (lsp-workspace-folders-add project)
   (defun start () (lsp))
   (defun messages ()
     (mapcar (lambda (d) (lsp-get d :message))
             (append (gethash (lsp--fix-path-casing (buffer-file-name)) (lsp-diagnostics t)) nil)))
   (defun actions () (append (lsp-code-actions-at-point) nil))
   (defun title (action) (lsp-get action :title))
   (defun act (action) (lsp-execute-code-action action))
   (defun hover ()
     (lsp-get (lsp-get (lsp-request "textDocument/hover" (lsp--text-document-position-params)) :contents) :value))))

(defvar-local is-started nil)

(defun open (file)
  (switch-to-buffer (find-file-noselect (expand-file-name file project)))
  (unless is-started
    (setq is-started t)
    (start)))

(defun at-line (line)
  (goto-char (point-min))
  (forward-line (1- line)))

(defun shows (&rest expected)
  (eventually expected (messages) (equal-to expected)))

(defun act-on (title-start)
  (let ((action (seq-find (lambda (action) (string-prefix-p title-start (title action))) (actions))))
    (unless action (error "No action %s, only %S" title-start (mapcar #'title (actions))))
    (act action)))

(defun sync ()
  "Send what was edited, as Emacs does when it is idle."
  (pcase client
    ('eglot (eglot--signal-textDocument/didChange))))

(defconst refund "11 lines duplicated in 1 other place: cart/refund.go:6")
(defconst label "13 lines duplicated in 1 other place: cart/refund.go:19")

(check "copies are diagnostics, with where the others are"
  (open "cart/total.go")
  (shows refund label))

(check "hover says what is different"
  (at-line 6)
  (let ((text (hover)))
    (unless (string-match-p "refund.*Total.* → .*Refund" text) (error "Seen: %s" text))))

(when (eq client 'lsp-mode)
  (check "a lens stands above each copy"
    (eventually "lenses"
                (mapcar (lambda (o) (substring-no-properties (or (overlay-get o 'after-string)
                                                                 (overlay-get o 'before-string) "")))
                        (seq-filter (lambda (o) (overlay-get o 'lsp-lens)) (overlays-in (point-min) (point-max))))
                (lambda (seen)
                  (cl-every (lambda (lens) (seq-some (lambda (text) (string-match-p lens text)) seen))
                            '("⧉ 1 copy · 11 lines · renamed" "⧉ 1 copy · 13 lines · renamed"))))))

(check "an action lists all copies"
  (open "cart/total.go")
  (at-line 9)
  (act-on "Show all 2 copies")
  (with-current-buffer "*xref*"
    (let ((seen (buffer-string)))
      (dolist (line '("refund.go" "6:.*func Refund" "total.go" "6:.*func Total"))
        (unless (string-match-p line seen) (error "No %s in %s" line seen))))))

(check "an action goes to a copy"
  (open "cart/total.go")
  (at-line 9)
  (act-on "Go to copy 1")
  (eventually "the other file" (list (file-name-nondirectory (or (buffer-file-name (window-buffer)) ""))
                                     (with-current-buffer (window-buffer) (line-number-at-pos)))
              (equal-to '("refund.go" 6))))

(check "an action compares with a copy"
  (open "cart/total.go")
  (at-line 9)
  (act-on "Compare with copy 1")
  (let ((control (seq-find (lambda (buffer) (buffer-local-value 'ediff-buffer-A buffer)) (buffer-list))))
    (with-current-buffer control
      (unless (equal (list (buffer-name ediff-buffer-A) (buffer-name ediff-buffer-B) ediff-number-of-differences)
                     '("total.go:6-16" "refund.go:6-16" 3))
        (error "Seen: %S" (list ediff-buffer-A ediff-buffer-B ediff-number-of-differences)))
      (ediff-really-quit nil))))

(check "a copy that is inserted appears, there and in the other file"
  (open "cart/item.go")
  (goto-char (point-max))
  (insert (with-current-buffer "total.go"
            (save-excursion (at-line 6) (buffer-substring (point) (line-beginning-position 12)))))
  (sync)
  (shows "11 lines duplicated in 2 other places: cart/refund.go:6, cart/total.go:6")
  (open "cart/total.go")
  (shows "11 lines duplicated in 2 other places: cart/item.go:9, cart/refund.go:6" label))

(check "a copy that is deleted goes, there and in the other file"
  (open "cart/item.go")
  (at-line 9)
  (delete-region (point) (point-max))
  (sync)
  (shows)
  (open "cart/total.go")
  (shows refund label))

(check "an action ignores a copy, and the diagnostic is gone"
  (at-line 9)
  (act-on "Ignore this copy")
  (sync)
  (shows label)
  (at-line 6)
  (unless (looking-at-p "// dupi:ignore$") (error "Seen: %s" (buffer-string)))
  (delete-region (point) (line-beginning-position 2))
  (sync)
  (shows refund label))

(check "an action ignores all copies in dupi.toml"
  (at-line 9)
  (act-on "Ignore all 2 copies")
  (with-current-buffer (find-file-noselect (expand-file-name "dupi.toml" project)) (save-buffer))
  (open "cart/total.go")
  (shows label))

(princ (format "%d passed, %d failed\n" passed failed))
(kill-emacs (if (zerop failed) 0 1))
;;; test.el ends here
